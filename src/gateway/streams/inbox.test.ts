import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { idle } from "../../base/wait.fake.ts";
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

test("messages are taken no faster than they are accepted: 64 at once, or a mebibyte, and room comes back with each", async () => {
  const news: (() => void)[] = [];
  let [taken, acknowledged] = [0, 0];
  const send = () => new Promise((resolve) => news.push(() => resolve({ outcome: "repeated" })));
  const stream = { ask: { intent: "resume" }, state: { accepted: 1_000, turns: [] }, attachment: { send } };
  const ports = { acknowledge: () => void acknowledged++, fail: () => undefined };
  const inbox = new Inbox(
    stream as unknown as OpenStream, // nothing else of it is used
    ports as unknown as ConstructorParameters<typeof Inbox>[1], // as above
  );
  const sizes = [600_000, 600_000, ...Array.from({ length: 100 }, () => 1)];
  async function* messages() {
    for (const [seqno, size] of sizes.entries()) {
      taken++;
      const mcpResult = { result: "r".repeat(size) };
      const request = { case: "clientSideToolV2Result", value: { toolCallId: "call", mcpResult } } as const;
      yield create(ClientMessageSchema, { seqno, request: { case: "clientChunk", value: { request } } });
    }
  }
  const read = inbox.read(messages(), true, new AbortController().signal);
  const accept = async () => {
    news.shift()?.();
    await idle();
  };
  await idle();
  expect(taken).toBe(2);
  await accept();
  await accept();
  expect([taken, acknowledged]).toEqual([2 + mostWaiting, 2]);
  while (acknowledged < sizes.length) await accept();
  await read;
  expect([taken, inbox.idle]).toEqual([sizes.length, true]);
});
