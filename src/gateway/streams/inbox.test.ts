import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { StreamUnifiedChatRequestWithToolsIdempotentSchema as ClientMessageSchema } from "../../proto/aiserver/v1/chat_pb.ts";
import { Inbox, mostWaiting } from "./inbox.ts";
import type { OpenStream } from "./stream-log.ts";

/** The reason for which an inbox gives up messages of these texts, whose first one is missing; undefined where it waits. */
async function problemOf(texts: readonly string[]): Promise<unknown> {
  const stream = { ask: { intent: "resume" }, state: { accepted: 0, turns: [] } } as unknown as OpenStream;
  let problem: unknown;
  const ports = { acknowledge: () => undefined, fail: (error: unknown) => (problem ??= error) };
  const inbox = new Inbox(stream, ports as unknown as ConstructorParameters<typeof Inbox>[1]);
  async function* messages() {
    for (const [n, result] of texts.entries())
      yield create(ClientMessageSchema, {
        seqno: n + 1,
        request: {
          case: "clientChunk",
          value: {
            request: {
              case: "clientSideToolV2Result",
              value: { toolCallId: "call", mcpResult: { result } },
            },
          },
        },
      });
  }
  await inbox.read(messages(), true, new AbortController().signal);
  return problem;
}

const tooMuch = { details: { reason: "seqno_gap" } };

test("so many messages wait for a missing one, and no more", async () => {
  expect(await problemOf(Array.from({ length: mostWaiting }, () => "r"))).toBeUndefined();
  expect(await problemOf(Array.from({ length: mostWaiting + 1 }, () => "r"))).toMatchObject(tooMuch);
});

test("a mebibyte of messages waits for a missing one, and no more", async () => {
  const half = "r".repeat(500_000);
  expect(await problemOf([half, half])).toBeUndefined();
  expect(await problemOf([half, half, half])).toMatchObject(tooMuch);
});
