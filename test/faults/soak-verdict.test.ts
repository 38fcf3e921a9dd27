import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { openFileLog } from "../../src/log/memory-log.fake.ts";
import { newTurn, SettableClock } from "../../src/log/turn.fake.ts";
import { logSizeOf } from "../soak/log-size.ts";
import { accumulates, grown, spread } from "../soak/verdict.ts";

const room = { share: 0.15, absolute: 6 };
/** The size of a log that keeps a minute to two of what comes in, where a window takes `seconds`. */
const saw = (seconds: number, rates: readonly number[]) =>
  rates.map((rate, i) => rate * (60 + ((i * seconds + 37) % 60)));

test("a figure that rises over the windows has grown, and one bad window is no growth", () => {
  expect(grown([40, 41, 40, 42, 41, 43], room)).toBeUndefined();
  expect(grown([40, 41, 90, 42, 41, 43], room)).toBeUndefined();
  expect(grown([40, 43, 46, 49, 52, 55], room)).toMatch(/^grew from/);
});

test("a log that its retention deletes does not accumulate, however the rate changes; one that keeps a part does", () => {
  const rates = [1, 1.3, 0.8, 1.1, 0.9, 1.2, 0.7, 1.3, 1, 1.1];
  for (const seconds of [70, 95, 270]) {
    const flat = saw(seconds, rates);
    expect(accumulates(flat, seconds)).toBeUndefined();
    expect(
      accumulates(
        flat.map((size, i) => size + i * seconds),
        seconds,
      ),
    ).toMatch(/^grows by/);
    expect(
      accumulates(
        flat.map((size, i) => size + i * seconds * 0.5),
        seconds,
      ),
    ).toMatch(/^grows by/);
  }
});

test("looks that are too near to each other are left out", () => {
  expect(spread(["a", "b", "c", "d", "e"], [10, 40, 70, 75, 200], 60)).toEqual(["a", "c", "e"]);
  expect(spread([], [], 60)).toEqual([]);
});

test("the size of a log tells answers from what is remembered of them", async () => {
  const folder = mkdtempSync(join(tmpdir(), "millrace-log-size-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, "turns.db");
  const clock = new SettableClock();
  const store = await openFileLog({ path, clock });
  const text = { type: "text", delta: "a long answer ".repeat(20_000) } as const;
  const finished = { type: "finished", reason: { unified: "stop", raw: undefined }, text: "" } as const;
  for (let i = 0; i < 4; i++) {
    const { writer } = await store.create(newTurn({ idempotencyKey: `key-${i}` }), "owner");
    await writer?.append([text, finished], clock.now());
  }
  const kept = logSizeOf(path);
  expect(kept).toMatchObject({ keptTurns: 4, erasedTurns: 0 });
  expect(kept.contentMiB).toBeGreaterThan(1);
  clock.move(3 * 3_600_000);
  await store.sweep();
  const erased = logSizeOf(path);
  await store.close();
  expect(erased).toMatchObject({ keptTurns: 0, erasedTurns: 4 });
  expect(erased.contentMiB).toBeLessThan(0.1);
  expect(erased.rememberedMiB).toBeGreaterThan(0); // a label goes with its turn
});
