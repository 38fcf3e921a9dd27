import { create } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import {
  CheckChatCapacityResponseSchema,
  CheckUserMessageRateLimitResponseSchema,
} from "../proto/windsurf/exa/language_server_pb.ts";
import { messageLimit } from "./message-limit.ts";

const messages = (init: Parameters<typeof create<typeof CheckUserMessageRateLimitResponseSchema>>[1]) =>
  create(CheckUserMessageRateLimitResponseSchema, init);
const chat = (init: Parameters<typeof create<typeof CheckChatCapacityResponseSchema>>[1]) =>
  create(CheckChatCapacityResponseSchema, init);

describe("what the server says of a limit", () => {
  test("is its end and what is left", () => {
    expect(messageLimit(messages({ maxMessages: 50, resetsInSeconds: 90n }), chat({ hasCapacity: true }))).toEqual({
      hasCapacity: false,
      messagesRemaining: 0,
      maxMessages: 50,
      resetsInMs: 90_000,
    });
  });

  test("holds where one of the two has no capacity", () => {
    const full = chat({ message: "Busy.", activeSessions: 9 });
    expect(messageLimit(messages({ hasCapacity: true }), full)?.hasCapacity).toBe(false);
    expect(messageLimit(undefined, chat({ hasCapacity: true }))?.hasCapacity).toBe(true);
  });

  test("has no count where none is told, or none applies", () => {
    const none = { messagesRemaining: undefined, maxMessages: undefined };
    expect(messageLimit(messages({ hasCapacity: true }), undefined)).toMatchObject(none);
    const unlimited = messages({ hasCapacity: true, messagesRemaining: -1, maxMessages: -1 });
    expect(messageLimit(unlimited, undefined)).toMatchObject(none);
  });

  test("is nothing where both are missing, or answer without a member", () => {
    expect(messageLimit(undefined, undefined)).toBeUndefined();
    expect(messageLimit(messages({}), chat({}))).toBeUndefined();
  });
});
