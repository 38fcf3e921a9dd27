import { describe, expect, onTestFinished, test } from "vitest";
import { FakeClock } from "../../base/clock.fake.ts";
import { openFallbackHistory } from "../history/fallback-history.ts";
import { turnFake } from "../history/history.fake.ts";
import { openHistory } from "../history/sqlite-history.ts";
import type { SharedUsage, UsageNote } from "./shared-usage.ts";
import { sharingHistory } from "./sharing-history.ts";

const noon = Date.parse("2026-11-22T12:00:00Z");

/** The cases that every shared usage passes. `make` gives a new one; each `open` is one more gateway's connection, which is ready. */
export function describeSharedUsage(
  name: string,
  make: () => Promise<{ readonly open: () => Promise<SharedUsage> }>,
): void {
  describe(`shared usage in ${name}`, () => {
    async function opened(): Promise<readonly [SharedUsage, SharedUsage]> {
      const place = await make();
      const open = async () => {
        const shared = await place.open();
        onTestFinished(() => shared.close());
        return shared;
      };
      return [await open(), await open()];
    }

    const period = { keyId: "ci", sinceMs: 0, untilMs: Date.now() + 86_400_000 };
    const note = (turnId: string): UsageNote => ({ turn: turnFake({ turnId, endedAtMs: noon }) });

    test("of many requests to two gateways at once, as many get a turn as the budget has", async () => {
      const gateways = await opened();
      const asked = Array.from({ length: 40 }, (_, i) => gateways[i % 2 === 0 ? 0 : 1].hold(period, `turn_${i}`, 7));
      expect((await Promise.all(asked)).filter(Boolean)).toHaveLength(7);
      expect(await gateways[0].held(period)).toBe(7);
      const first = (await Promise.all(asked)).indexOf(true);
      expect(await gateways[1].hold(period, `turn_${first}`, 7)).toBe(true); // counted once
      await gateways[0].withdraw(period, `turn_${first}`);
      expect(await gateways[1].hold(period, "turn_late", 7)).toBe(true);
      expect(await gateways[1].hold(period, "turn_later", 7)).toBe(false);
    });

    test("keys and periods are counted apart", async () => {
      const [one, other] = await opened();
      expect(await one.hold(period, "turn_1", 1)).toBe(true);
      expect(await other.hold({ ...period, keyId: "ada" }, "turn_2", 1)).toBe(true);
      expect(await other.hold({ ...period, sinceMs: 1 }, "turn_3", 1)).toBe(true);
      expect(await other.hold(period, "turn_4", 1)).toBe(false);
    });

    test("notes come to every gateway in one order, in pages, and none twice", async () => {
      const [one, other] = await opened();
      await one.add([note("turn_1"), note("turn_2")]);
      await other.add([note("turn_3")]);
      const read = async (from: SharedUsage) => {
        const found: (string | undefined)[] = [];
        for (let cursor = "0"; ; ) {
          const page = await from.after(cursor, 2);
          found.push(...page.notes.map(({ turn }) => turn?.turnId));
          if (page.notes.length === 0) return { found, cursor };
          ({ cursor } = page);
        }
      };
      const [first, second] = [await read(one), await read(other)];
      expect(first.found).toEqual(["turn_1", "turn_2", "turn_3"]);
      expect(second).toEqual(first);
      await one.add([note("turn_4")]);
      expect((await other.after(second.cursor, 9)).notes).toMatchObject([{ turn: { turnId: "turn_4" } }]);
    });

    /** A gateway's history over a connection. */
    function gateway(shared: SharedUsage, before: readonly string[] = []) {
      const clock = new FakeClock(noon);
      const file = openHistory({ file: ":memory:", keepDays: 400 });
      for (const turnId of before) file.addTurn(turnFake({ turnId, endedAtMs: noon - 60_000 }));
      const history = sharingHistory({ history: openFallbackHistory({ open: () => file, clock }), shared, clock });
      const turns = () =>
        history.spend({ sinceMs: 0, untilMs: Date.parse("2027-01-01"), by: "model", timeZone: "UTC" })[0]?.turns;
      return { clock, history, turns };
    }

    test("what one gateway records, the history of the other has once, also what it recorded before it could tell", async () => {
      const leaving = new AbortController();
      const [one, other] = await opened();
      const [a, b] = [gateway(one, ["turn_before"]), gateway(other)];
      const running = [a, b].map(({ history }) => history.heal(leaving.signal));
      a.history.addTurns([turnFake({ turnId: "turn_a", endedAtMs: noon })]);
      b.history.addTurn(turnFake({ turnId: "turn_b", endedAtMs: noon }));
      for (const each of [a, b])
        await expect
          .poll(async () => {
            await Promise.all([a.clock.advance(1_000), b.clock.advance(1_000)]);
            return each.turns();
          })
          .toBe(3);
      expect(b.history.degradedBy).toBeUndefined();
      leaving.abort();
      await Promise.all(running);
    });

    test("who catches up has what another gateway recorded before, without waiting for the next look", async () => {
      const [one, other] = await opened();
      const [a, b] = [gateway(one), gateway(other)];
      for (let turns = 1; turns <= 20; turns++) {
        a.history.addTurn(turnFake({ turnId: `turn_${turns}`, endedAtMs: noon }));
        await a.history.catchUp(); // it has told
        await Promise.all([b.history.catchUp(), b.history.catchUp()]);
        expect(b.turns()).toBe(turns);
      }
    });
  });
}
