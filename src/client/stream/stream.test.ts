import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { DyingStore } from "../records/record-store.fake.ts";
import { FakeStreamServer } from "../stream-server.fake.ts";
import { resume, startReliableStream } from "./open-stream.ts";
import type { ReliableStream } from "./stream.ts";
import type { StreamEvent } from "./stream-event.ts";
import { ids, never, optionsFor, plain, readAll, request, tiers, withTools } from "./stream-world.fake.ts";

describe.each(tiers)("over %s", (_name, open) => {
  test("a stream arrives whole, and its end is proved", async () => {
    const server = new FakeStreamServer(plain);
    const stream = await startReliableStream(request, optionsFor(server, undefined, [open]), never);
    const events = await readAll(stream);
    expect(events.map(({ type }) => type)).toEqual(["thinking", "text", "text", "text", "rewritten", "text", "end"]);
    expect(events.at(-1)).toMatchObject({ type: "end", outcome: "finished", reason: "stop" });
    expect(server.prompts).toBe(1);
  });

  test("a stream with tools continues after each result", async () => {
    const server = new FakeStreamServer(withTools);
    const ran: string[] = [];
    const stream = await startReliableStream(request, optionsFor(server, undefined, [open]), never);
    const events = await readAll(stream, ran);
    expect(ran).toEqual(["call-1", "call-2", "call-3"]);
    expect(ids(events)).toEqual(server.only.chunks.map(({ eventId }) => eventId));
  });

  test("a connection that is cut after any message, in either direction, every time, costs nothing", async () => {
    for (let after = 0; after < 14; after++) {
      for (const cut of [{ down: after }, { up: after }]) {
        const server = new FakeStreamServer(withTools);
        const ran: string[] = [];
        const options = optionsFor(server, (attach) => (attach < 3 ? cut : undefined), [open]);
        const events = await readAll(await startReliableStream(request, options, never), ran);
        expect(ids(events)).toEqual(server.only.chunks.map(({ eventId }) => eventId));
        expect(ran).toEqual(["call-1", "call-2", "call-3"]);
        expect(server.prompts).toBe(1);
        expect(server.only.accepted).toHaveLength(4);
      }
    }
  });
});

test("a stream whose connections go over any tiers and break anywhere is delivered as its log holds it", async () => {
  const cuts = fc.array(fc.record({ down: fc.nat(12), up: fc.nat(6) }), { maxLength: 8 });
  const order = fc.shuffledSubarray(
    tiers.map(([, open]) => open),
    { minLength: 1 },
  );
  await fc.assert(
    fc.asyncProperty(cuts, order, async (broken, open) => {
      const server = new FakeStreamServer(withTools);
      let attach = 0;
      const options = optionsFor(server, () => broken[attach++], open);
      const ran: string[] = [];
      const events = await readAll(await startReliableStream(request, options, never), ran);
      expect(ids(events)).toEqual(server.only.chunks.map(({ eventId }) => eventId));
      expect(ran).toEqual(["call-1", "call-2", "call-3"]);
      expect(server.prompts).toBe(1);
    }),
    { numRuns: 30 },
  );
});

describe("an application that dies", () => {
  /** Lives until it dies or the stream ends, with what it kept by event id; then once more, to the end. */
  async function lives(dies: { readonly at: number; readonly when: "before" | "after" }, ownCursor: boolean) {
    const server = new FakeStreamServer(withTools);
    const first = new DyingStore(new Map(), dies);
    const kept = new Map<string, StreamEvent>();
    const effects: string[] = [];
    async function live(stream: ReliableStream): Promise<void> {
      for await (const event of stream.events) {
        kept.set(event.eventId, event);
        if (event.type === "tool_call")
          await stream.runTool(event, () => {
            effects.push(event.callId);
            return Promise.resolve({ text: "result" });
          });
      }
    }
    const options = optionsFor(server);
    let died = false;
    try {
      await live(await startReliableStream(request, { ...options, store: first }, never));
    } catch {
      died = true;
    }
    const second = new DyingStore(first.disk);
    for (const streamKey of first.disk.keys()) {
      const after = ownCursor ? { after: [...kept.keys()].at(-1) ?? "0" } : {};
      await live(await resume(streamKey, { ...options, ...after, store: second }, never));
    }
    expect(second.disk.size).toBe(0);
    return { server, kept, effects, died, saves: first.saves };
  }

  test.each([true, false])(
    "at any write of its record loses nothing, asks once and runs no tool twice (own cursor: %s)",
    async (ownCursor) => {
      let reached = 0;
      for (let at = 0; ; at++) {
        const all = await Promise.all((["before", "after"] as const).map((when) => lives({ at, when }, ownCursor)));
        if (all.every(({ died }) => !died)) break;
        for (const { server, kept, effects } of all) {
          reached++;
          if (server.streams.size === 0) continue; // it died before anything was sent
          expect([...kept.keys()]).toEqual(server.only.chunks.map(({ eventId }) => eventId));
          expect(new Set(effects).size).toBe(effects.length);
          expect(server.only.accepted).toHaveLength(4);
          expect(server.prompts).toBe(1);
        }
      }
      expect(reached).toBeGreaterThan(15);
    },
  );
});
