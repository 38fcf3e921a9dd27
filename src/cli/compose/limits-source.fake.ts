import { FakeClock } from "../../base/clock.fake.ts";
import type { UsageHistory } from "../../usage/history/history.ts";
import { openHistory } from "../../usage/history/sqlite-history.ts";
import { openMeter } from "../../usage/meter.ts";
import type { PlanAnswer } from "../../usage/plan-answer.ts";
import { fixture, windsurfFixture } from "../../usage/snapshot.fake.ts";
import type { Command } from "../command.ts";
import { main } from "../main.ts";
import { fakeIo } from "../terminal/io.fake.ts";
import { type LocalMeter, limitsSource, type OpenLimitsSource } from "./limits-source.ts";

/** 24 February 2026, noon in UTC: what the recorded answers were made for. */
export const fixtureNowMs = Date.parse("2026-02-24T12:00:00Z");

/** A recorded Windsurf answer, as an IDE would give it. */
export function windsurfAnswer(name: string, ide: "windsurf" | "windsurf-next" = "windsurf"): PlanAnswer {
  return { type: "windsurf", ide, build: "2.3.15", userStatus: windsurfFixture(name) };
}

/** A recorded Antigravity answer. */
export function antigravityAnswer(userStatus: string, quotaSummary?: string): PlanAnswer {
  return {
    type: "antigravity",
    ide: "antigravity",
    build: "1.14.2",
    userStatus: fixture(userStatus),
    quotaSummary: quotaSummary === undefined ? undefined : fixture(quotaSummary),
  };
}

/** A source over a real meter with a history in memory, and no gateway. */
export function fakeLimits(options: {
  readonly answers: () => Promise<readonly PlanAnswer[]>;
  readonly history?: UsageHistory;
  readonly elsewhere?: LocalMeter["elsewhere"];
  readonly clock?: FakeClock;
}): { readonly open: OpenLimitsSource; readonly clock: FakeClock; closed(): number } {
  const clock = options.clock ?? new FakeClock(fixtureNowMs);
  const history = options.history ?? openHistory({ file: ":memory:" });
  const meter = openMeter({ readPlan: options.answers, history, clock });
  const { elsewhere = () => Promise.resolve(undefined) } = options;
  let closed = 0;
  return {
    open: limitsSource(() => ({ history, elsewhere, meter: () => Promise.resolve(meter), close: () => void closed++ })),
    clock,
    closed: () => closed,
  };
}

/** Runs one command in process, at the time of the recorded answers. */
export async function runAt(
  argv: readonly string[],
  command: Command,
  options: {
    readonly homeFolder: string;
    readonly clock: FakeClock;
    readonly columns?: number;
  },
): Promise<{ readonly code: number; readonly stdout: string; readonly stderr: string }> {
  const io = fakeIo({ homeFolder: options.homeFolder });
  if (options.columns !== undefined) Object.assign(io.stdout, { isTTY: true, columns: options.columns });
  const code = await main(argv, { ...io, env: { NO_COLOR: "1" }, clock: options.clock }, [command]);
  return { code, stdout: io.written.stdout(), stderr: io.written.stderr() };
}
