import { request as httpRequest } from "node:http";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { FakeClock } from "../../base/clock.fake.ts";
import { systemClock } from "../../base/clock.ts";
import { MillraceError } from "../../base/errors.ts";
import { openMemoryLog } from "../../log/memory-log.fake.ts";
import type { LogStore } from "../../log/store.ts";
import {
  BidiRequestIdSchema,
  type StreamUnifiedChatResponseWithTools as ServerChunk,
} from "../../proto/aiserver/v1/chat_pb.ts";
import { fakeKey } from "../gateway.fake.ts";
import { begun, lastOf } from "./one-stream.fake.ts";
import { detailsOf, type RawAttach, say, tierNames } from "./raw-client.fake.ts";
import { attach, headersOf, newNames, streamWorld } from "./stream-world.fake.ts";

/** The last chunk of a turn whose calls wait for results. */
const isOfCalls = ({ response }: ServerChunk) =>
  response.case === "streamUnifiedChatResponse" && response.value.parallelToolCallsComplete === true;

describe("a stream", () => {
  test("arrives whole, however often it is cut and over any tiers (P11, G2)", async () => {
    const { world, names, first } = await begun();
    await first.cut();
    const words = Array.from({ length: 40 }, (_, i) => `word ${i} `);
    for (const word of words) {
      world.backend.last.text(word);
      await new Promise((resolve) => setImmediate(resolve)); // so that the log has events between which to cut
    }
    world.backend.last.finish(words.join(""));
    const whole = attach(world, "bidi", names);
    expect(await whole.ended).toBeUndefined();
    const cuts = fc.array(fc.record({ tier: fc.constantFrom(...tierNames), after: fc.nat({ max: 12 }) }), {
      maxLength: 6,
    });
    await fc.assert(
      fc.asyncProperty(cuts, fc.constantFrom(...tierNames), async (parts, last) => {
        const got: string[] = [];
        let cursor = "0";
        const take = (from: RawAttach, count: number) => {
          for (const { eventId } of from.chunks.slice(0, count)) got.push((cursor = eventId));
        };
        for (const { tier, after } of parts) {
          const part = attach(world, tier, names, cursor);
          const enough = Math.min(after, whole.chunks.length - got.length);
          await Promise.race([part.until(({ chunks }) => chunks.length >= enough), part.ended]);
          await part.cut();
          take(part, enough);
        }
        const rest = attach(world, last, names, cursor).endInput();
        await rest.ended;
        take(rest, rest.chunks.length);
        expect(got).toEqual(whole.chunks.map(({ eventId }) => eventId));
      }),
      { numRuns: 6 },
    );
  });

  test("is read from the turn of the cursor on by each attach, over many turns too", async () => {
    const read = new Map<string, number>();
    const log = openMemoryLog({ clock: systemClock });
    const store: LogStore = Object.assign(Object.create(log) as LogStore, {
      async readAfter(...asked: Parameters<LogStore["readAfter"]>) {
        const page = await log.readAfter(...asked);
        read.set(asked[0], (read.get(asked[0]) ?? 0) + page.events.length);
        return page;
      },
    });
    const { world, names, first } = await begun({ store });
    const ends: string[] = [];
    for (let turn = 1; turn <= 6; turn++) {
      await expect.poll(() => world.backend.sent.length).toBe(turn);
      const call = { type: "tool_call", callId: `c${turn}`, name: "look", argumentsDelta: "{}", done: true } as const;
      const usage = {
        type: "usage",
        promptTokens: turn,
        completionTokens: 1,
        thinkingTokens: 0,
        estimated: false,
      } as const;
      const reason = { unified: "tool_calls", raw: undefined } as const;
      world.backend.last.text(`turn ${turn}`);
      world.backend.last.emit(call, usage, { type: "finished", reason, text: `turn ${turn}` });
      world.backend.last.end();
      await first.until(({ chunks }) => chunks.filter(isOfCalls).length === turn);
      ends.push(lastOf(first));
      if (turn < 6) first.send(say.result(`c${turn}`, "seen", turn));
    }
    await first.cut();
    const ids = first.chunks.map(({ eventId }) => eventId);
    const perTurn = Math.max(...read.values());
    for (const [at, cursor] of ["0", ...ends].entries()) {
      read.clear();
      const again = await attach(world, "bidi", names, cursor).until(({ welcome }) => welcome !== undefined);
      await again.until(({ chunks }) => cursor === ends.at(-1) || chunks.at(-1)?.eventId === ends.at(-1));
      await again.cut();
      expect([...read.values()].filter((events) => events > 0)).toHaveLength(Math.max(1, 6 - at));
      expect(Math.max(...read.values())).toBeLessThanOrEqual(perTurn);
      expect(again.chunks.map(({ eventId }) => eventId)).toEqual(ids.filter((id) => id > cursor));
      expect(again.welcome?.facts?.tailEventId).toBe(ends.at(-1));
    }
    const rest = attach(world, "bidi", names, ends[3]).send(say.close(6));
    expect(await rest.ended).toBeUndefined();
    const whole = attach(world, "bidi", names);
    expect(await whole.ended).toBeUndefined();
    expect(rest.chunks).toEqual(whole.chunks.slice(-rest.chunks.length)); // digest, count and usage too
  });

  test("is understood however its bytes are split on the way (P3)", async () => {
    const world = await streamWorld();
    const names = newNames();
    const body = toBinary(BidiRequestIdSchema, create(BidiRequestIdSchema, { requestId: "request-1" }));
    const envelope = Buffer.concat([Buffer.of(0, 0, 0, 0, body.length), body]);
    expect(fromBinary(BidiRequestIdSchema, envelope.subarray(5)).requestId).toBe("request-1");
    for (const cut of [1, 4, 5, 6, envelope.length - 1]) {
      const first = await new Promise<Buffer>((resolve, reject) => {
        const url = `${world.listening.url}/aiserver.v1.ChatService/StreamUnifiedChatWithToolsIdempotentSSE`;
        const headers = {
          ...headersOf(names),
          authorization: `Bearer ${fakeKey}`,
          "content-type": "application/connect+proto",
        };
        const sent = httpRequest(url, { method: "POST", headers }, (response) => {
          response.once("data", (bytes: Buffer) => {
            resolve(bytes);
            sent.destroy();
          });
        });
        sent.on("error", reject);
        sent.write(envelope.subarray(0, cut), () => setImmediate(() => sent.end(envelope.subarray(cut))));
      });
      expect([first[0], first[5]]).toEqual([0, 0x1a]); // an envelope with a welcome
    }
  });

  test("says at its start what of its request is not read, and the same at every attach", async () => {
    const world = await streamWorld();
    const names = newNames();
    const request = say.request("Hello");
    const chunk = request.request?.case === "clientChunk" ? request.request.value?.request : undefined;
    if (chunk?.case !== "streamUnifiedChatRequest") throw new Error("not a request");
    const value = { ...chunk.value, supportedTools: [5] };
    const first = attach(world, "bidi", names).send({
      seqno: 0,
      request: { case: "clientChunk", value: { request: { case: "streamUnifiedChatRequest", value } } },
    });
    await first.until(({ chunks }) => chunks.length > 0);
    world.backend.last.finish("");
    await first.ended;
    const later = attach(world, "sse", names);
    await later.until(({ end }) => end !== undefined);
    for (const { chunks } of [first, later])
      expect(chunks[0]?.response).toMatchObject({ case: "streamStart", value: { unreadFields: ["supported_tools"] } });
    expect(later.chunks.map((c) => c.eventId)).toEqual(first.chunks.map((c) => c.eventId));
  });

  test("is refused with details that people can read, and nothing of the gateway's inside", async () => {
    const world = await streamWorld();
    world.backend.missing = new MillraceError("ide_not_running", "No IDE runs. Really.", { hint: "Start one." });
    const refused = await attach(world, "sse", newNames()).send(say.request("Hello")).ended;
    expect(detailsOf(refused)).toEqual({ number: 29, info: { code: "ide_not_running", hint: "Start one." } });
    const unknown = await attach(world, "sse", newNames()).send(say.request("Hello", 0, { model: "nothing" })).ended;
    expect(detailsOf(unknown)).toMatchObject({ number: 5, info: { code: "unknown_model" } });
  });
});

describe("a key or a cursor of another form", () => {
  test.each([
    ["no key", { "x-idempotent-encryption-key": "" }],
    ["a last character that has more bits than the key", { "x-idempotent-encryption-key": `${"A".repeat(42)}B` }],
    ["one byte less", { "x-idempotent-encryption-key": "A".repeat(42) }],
    ["no name", { "x-idempotency-key": "" }],
    ["a cursor of another gateway", { "x-idempotency-event-id": "17" }],
    ["an unknown intent", { "x-millrace-intent": "steal" }],
    ["a new stream with a cursor", { "x-millrace-intent": "create", "x-idempotency-event-id": "a1.a1" }],
    ["half a ticket", { "x-millrace-ticket": "AAAA" }],
  ])("is refused before anything is looked up: %s", async (_name, headers) => {
    const world = await streamWorld();
    const refused = await world.client.attach("bidi", headersOf(newNames(), "0", headers)).ended;
    expect(detailsOf(refused)).toMatchObject({ number: 36, info: { code: "invalid_request" } });
  });
});

test("a key in any form of base64 is the same key", async () => {
  const bytes = Buffer.alloc(32, 0xfb);
  const [url, standard] = [bytes.toString("base64url"), bytes.toString("base64")];
  expect(standard).toMatch(/[+/].*=$/);
  const world = await streamWorld();
  const names = { ...newNames(), encryptionKey: url };
  const first = attach(world, "bidi", names).send(say.request("Hello"));
  await first.until(({ acks }) => acks.length > 0);
  await first.cut();
  for (const encryptionKey of [standard, standard.replace("=", ""), `${url}=`]) {
    const again = world.client.attach(
      "bidi",
      headersOf({ ...names, encryptionKey }, "0", { "x-millrace-intent": "resume" }),
    );
    await again.until(({ welcome }) => welcome !== undefined);
    await again.cut();
  }
});

test("a client of the original protocol whose stream was lost gets an error, and does not wait for ever", async () => {
  const clock = new FakeClock();
  const world = await streamWorld({ clock });
  const lost = attach(world, "bidi", newNames()); // its request was acknowledged in another store
  await lost.until(({ welcome }) => welcome !== undefined);
  await clock.advance(8_000);
  expect(detailsOf(await lost.ended)).toMatchObject({ info: { code: "expired" } });
});

test("an attach that was cut frees what it held", async () => {
  const { world, names, first } = await begun();
  await first.cut();
  const second = attach(world, "bidi", names, lastOf(first));
  await second.until(({ welcome }) => welcome !== undefined);
  await second.cut();
  expect(world.backend.last.closed).toBe(false); // cut is not cancelled
});
