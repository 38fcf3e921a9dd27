import { describe, expect, test } from "vitest";
import { FakeClock } from "../../base/clock.fake.ts";
import { startOfLog, type TurnId } from "../../base/ids.ts";
import { Secret } from "../../base/secret.ts";
import type { TurnEventBody } from "../event.ts";
import { eventIdOf } from "../event-id.ts";
import { openLog } from "../medium/open-log.ts";
import { MemoryMedium } from "../memory/memory-medium.ts";
import { readAll } from "../read-all.ts";
import { readTurn } from "../read-turn.ts";
import { defaultRetention } from "../retention.ts";
import { sealedCodec } from "../sealing/sealed-codec.ts";
import { newTurn } from "../turn.fake.ts";
import { alone, begin, created, finished, never, now, text } from "./live-log.fake.ts";
import { type LiveLog, openLiveLog } from "./open-live-log.ts";

describe("a running turn", () => {
  const long = (i: number): TurnEventBody => ({ type: "text", delta: String(i % 10).repeat(40_000) });
  const idsOf = (events: readonly { readonly eventId: string }[]) => events.map(({ eventId }) => eventId);

  test("is read without its store, but for the beginning of a long answer, which memory has dropped", async () => {
    const { failing, log } = await begin();
    const { writer, turnId } = await created(log);
    for (let i = 0; i < 40; i++) await writer.append([long(i)], now);
    const whole = idsOf(await readAll(log, turnId));
    expect(whole).toEqual(Array.from({ length: 40 }, (_, i) => eventIdOf(i + 1)));
    failing.fault = "gone";
    const page = (seq: number) => log.readAfter(turnId, eventIdOf(seq), { limit: 9 });
    expect(idsOf((await page(37)).events)).toEqual(whole.slice(37));
    await expect(page(0)).rejects.toMatchObject({ code: "degraded" });
    await log.close().catch(() => undefined);
  });

  test("keeps all that the store did not take, however much that is", async () => {
    const { failing, log } = await begin();
    const { writer, turnId } = await created(log);
    failing.fault = "gone";
    for (let i = 0; i < 40; i++) await writer.append([long(i)], now);
    expect(await readAll(log, turnId)).toHaveLength(40);
    await log.close().catch(() => undefined);
  });

  test("that another process took over while the store failed is its own: the writer here is fenced, and nothing of it is added", async () => {
    const { clock, failing, primary, log } = await begin();
    const { writer, turnId } = await created(log);
    await writer.append([text("a")], now);
    failing.fault = "full";
    await writer.append([text("only here")], now);
    failing.fault = "none";
    const other = await primary.claim(turnId, "owner-2");
    await other?.writer.append([text("b"), finished], now);
    await clock.advance(2_000);
    expect(await writer.append([text("late")], now)).toBe("fenced");
    const events = await readAll(log, turnId);
    expect(events.map((event) => (event.type === "text" ? event.delta : event.type))).toEqual(["a", "b", "finished"]);
    await log.close();
  });

  const looks = [
    {
      when: "a shared store gets the lease",
      capabilities: { sharedBetweenMachines: true },
      look: (log: LiveLog) => log.renewOwner("owner-1", now),
    },
    { when: "its record is read", capabilities: {}, look: (log: LiveLog, turnId: TurnId) => log.get(turnId) },
  ] as const;
  test.each(looks)(
    "that another process took over is read to its end once $when, without an append",
    async ({ capabilities, look }) => {
      const { primary, log } = await begin(capabilities);
      const { writer, turnId } = await created(log);
      const { writer: mine, turnId: kept } = await created(log);
      await writer.append([text("a")], now);
      const seen: string[] = [];
      const reading = (async () => {
        for await (const { eventId } of readTurn(log, { turnId, after: startOfLog }, never)) seen.push(eventId);
      })();
      const other = await primary.claim(turnId, "owner-2");
      await other?.writer.append([text("b"), finished], now);
      await look(log, turnId);
      await look(log, kept);
      await reading;
      expect(seen).toEqual(["a1", "a2", "a3"]);
      expect(await mine.append([finished], now)).toBe("appended");
      expect(await readAll(log, kept)).toHaveLength(1);
      await log.close();
    },
  );

  test("whose store fails in an unknown way shows what it has, and then the error to everyone who waits", async () => {
    const { failing, log } = await begin();
    const { writer, turnId } = await created(log);
    await writer.append([text("a")], now);
    const reader = readTurn(log, { turnId, after: startOfLog }, never);
    expect((await reader.next()).value).toMatchObject({ eventId: "a1" });
    const [next, ended] = [reader.next(), log.untilEnded(turnId, never)];
    failing.fault = "broken";
    const waits = [writer.append([text("b")], now), next, ended];
    for (const { status, ...rest } of await Promise.allSettled(waits))
      expect({ status, ...rest }).toMatchObject({
        status: "rejected",
        reason: { message: "no code of this is known" },
      });
    const later = readTurn(log, { turnId, after: startOfLog }, never);
    expect((await later.next()).value).toMatchObject({ eventId: "a1" });
    await expect(later.next()).rejects.toThrow("no code of this is known");
    await expect(log.untilEnded(turnId, never)).rejects.toThrow("no code of this is known");
    failing.fault = "none";
    await log.close();
  });

  test("that its client sealed and a restart took up opens to that key alone, in memory too", async () => {
    const key = (byte: number) => new Secret(Buffer.alloc(32, byte).toString("base64url"));
    const sealed = openLog({
      medium: new MemoryMedium(),
      codec: sealedCodec(key(1)),
      clock: new FakeClock(),
      retention: defaultRetention,
    });
    const before = await sealed.create(newTurn(), "owner-1", { clientKey: key(2) });
    await before.writer?.append([text("a")], now);
    const after = await openLiveLog({ open: async () => sealed, capabilities: alone, clock: new FakeClock() });
    const { turnId } = before.record;
    const claimed = await after.claim(turnId, "owner-2");
    expect(idsOf((await claimed?.readAll()) ?? [])).toEqual(["a1"]);
    await claimed?.writer.append([text("b")], now);
    const read = async (clientKey?: Secret) =>
      (await after.readAfter(turnId, startOfLog, { limit: 9, clientKey })).events.length;
    expect(await read(key(2))).toBe(2);
    expect(await read(key(2))).toBe(2);
    for (const wrong of [undefined, key(3)])
      await expect(read(wrong)).rejects.toMatchObject({ code: "invalid_request", message: "There is no such turn." });
    await after.close();
  });

  test("learns of a cancel that another process asked for, also after the store failed and works again", async () => {
    const { clock, failing, primary, log } = await begin();
    const { turnId, writer } = await created(log);
    const asked = log.untilCancelRequested(turnId, never);
    failing.fault = "full";
    await writer.append([text("a")], now);
    await clock.advance(2_000);
    failing.fault = "none";
    await clock.advance(2_000);
    await primary.requestCancel(turnId, "client");
    expect(await asked).toBe("client");
    await log.close();
  });
});
