import { expect, test } from "vitest";
import { FakeClock } from "../../../base/clock.fake.ts";
import { untilSlow } from "./agent-starter.ts";

/** How long an agent is waited for that writes at these times; ms. */
async function waited(heardAtMs: readonly number[]): Promise<{ readonly ms: number; readonly message: string }> {
  const clock = new FakeClock();
  const heardMs = () => Math.max(0, ...heardAtMs.filter((ms) => ms <= clock.monotonic()));
  const agent = { name: "played", heardMs, method: () => "initialize" };
  const slow = untilSlow(agent, clock, new AbortController().signal);
  const atMs = slow.then(() => clock.monotonic());
  await clock.advance(120_000);
  return { ms: await atMs, message: (await slow).message };
}

test("an agent that starts is waited for as long as it writes something every ten seconds, and a minute at most", async () => {
  const silent = await waited([]);
  const once = await waited([9_000]);
  const always = await waited(Array.from({ length: 100 }, (_, n) => n * 5_000));
  expect([silent.ms, once.ms, always.ms]).toEqual([10_000, 19_000, 60_000]);
  expect(silent.message).not.toBe(always.message);
});
