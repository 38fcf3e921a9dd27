import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { FakeClock } from "../../base/clock.fake.ts";
import { openFallbackHistory } from "../history/fallback-history.ts";
import { turnFake } from "../history/history.fake.ts";
import { openHistory } from "../history/sqlite-history.ts";
import { openRedisUsage } from "./redis-usage.ts";
import { sharingHistory } from "./sharing-history.ts";

const installed = spawnSync("redis-server", ["--version"]).status === 0;

describe.skipIf(!installed)("with a redis-server on PATH", () => {
  const folder = mkdtempSync(join(tmpdir(), "millrace-usage-"));
  const socket = join(folder, "redis.sock");
  let server: ChildProcess;
  beforeAll(async () => {
    const options = ["--port", "0", "--unixsocket", socket, "--save", "", "--appendonly", "no", "--dir", folder];
    server = spawn("redis-server", options, { stdio: ["ignore", "pipe", "inherit"] });
    for await (const chunk of server.stdout ?? []) if (/ready to accept/i.test(String(chunk))) break;
  });
  afterAll(async () => {
    const exited = once(server, "exit");
    server.kill("SIGKILL");
    await exited;
    rmSync(folder, { recursive: true, force: true });
  });

  const clock = () => new FakeClock(Date.parse("2026-11-22T12:00:00Z"));
  function opened(prefix: string) {
    const shared = openRedisUsage({ url: `unix:${socket}`, prefix, clock: clock(), keepDays: 400 });
    onTestFinished(() => shared.close());
    return shared;
  }

  /** It connects in the background: the first calls may come too early. */
  async function ready(shared: ReturnType<typeof opened>) {
    await expect.poll(() => shared.after("0", 1).then(Boolean, () => false)).toBe(true);
    return shared;
  }

  test("of many requests to two gateways at once, as many get a turn as the budget has", async () => {
    const gateways = [await ready(opened("hold:")), await ready(opened("hold:"))] as const;
    const period = { keyId: "ci", sinceMs: 0, untilMs: Date.now() + 86_400_000 };
    const asked = Array.from({ length: 40 }, (_, i) => gateways[i % 2 === 0 ? 0 : 1].hold(period, `turn_${i}`, 7));
    expect((await Promise.all(asked)).filter(Boolean)).toHaveLength(7);
    expect(await gateways[0].held(period)).toBe(7);
    const first = (await Promise.all(asked)).indexOf(true);
    expect(await gateways[1].hold(period, `turn_${first}`, 7)).toBe(true); // counted once
    await gateways[0].withdraw(period, `turn_${first}`);
    expect(await gateways[1].hold(period, "turn_late", 7)).toBe(true);
    expect(await gateways[1].hold(period, "turn_later", 7)).toBe(false);
  });

  test("the entries of one gateway are in the other's history once, also those from before it could send them", async () => {
    const leaving = new AbortController();
    const gateway = async (before: readonly string[]) => {
      const time = clock();
      const file = openHistory({ file: ":memory:", keepDays: 400 });
      for (const turnId of before) file.addTurn(turnFake({ turnId, endedAtMs: time.now() - 60_000 }));
      const own = openFallbackHistory({ open: () => file, clock: time });
      const history = sharingHistory({ history: own, shared: await ready(opened("tell:")), clock: time });
      return { history, time, running: history.heal(leaving.signal) };
    };
    const a = await gateway(["turn_before"]);
    const b = await gateway([]);
    const countOf = ({ history }: typeof a) =>
      history.spend({ sinceMs: 0, untilMs: Date.parse("2027-01-01"), by: "model", timeZone: "UTC" })[0]?.turns;
    a.history.addTurns([turnFake({ turnId: "turn_a", endedAtMs: a.time.now() })]);
    b.history.addTurn(turnFake({ turnId: "turn_b", endedAtMs: b.time.now() }));
    for (const each of [a, b])
      await expect
        .poll(async () => {
          await Promise.all([a.time.advance(1_000), b.time.advance(1_000)]);
          return countOf(each);
        })
        .toBe(3);
    expect(b.history.degradedBy).toBeUndefined();
    leaving.abort();
    await Promise.all([a.running, b.running]);
  });
});
