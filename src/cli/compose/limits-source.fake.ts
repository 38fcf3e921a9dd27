import { FakeClock } from "../../base/clock.fake.ts";
import type { Elsewhere } from "../../usage/elsewhere.ts";
import { encodeLimits, encodeUsage } from "../../usage/envelope.ts";
import type { UsageHistory } from "../../usage/history/history.ts";
import { openHistory } from "../../usage/history/sqlite-history.ts";
import { openMeter } from "../../usage/meter.ts";
import type { PlanAnswer } from "../../usage/plan-answer.ts";
import { fixture, windsurfFixture } from "../../usage/snapshot.fake.ts";
import { usageReport } from "../../usage/usage-report.ts";
import type { Command } from "../command.ts";
import { main } from "../main.ts";
import { fakeIo } from "../terminal/io.fake.ts";
import type { LimitsSource, WithLimits } from "./limits-source.ts";

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

/** A source over a real meter with a history in memory, as a gateway has one. */
export function fakeLimits(options: {
  readonly answers: () => Promise<readonly PlanAnswer[]>;
  readonly history?: UsageHistory;
  readonly elsewhere?: Elsewhere | undefined;
}): { readonly open: WithLimits; readonly clock: FakeClock } {
  const clock = new FakeClock(fixtureNowMs);
  const history = options.history ?? openHistory({ file: ":memory:" });
  const meter = openMeter({ readPlan: options.answers, history, clock });
  const source: LimitsSource = {
    limits: async (signal) => encodeLimits(await meter.limits({ wait: true }, signal)),
    usage(asked) {
      const query = { ...asked, untilMs: asked.untilMs ?? clock.now() + 1 };
      const report = { ...usageReport(history, query), elsewhere: options.elsewhere };
      return Promise.resolve(encodeUsage(report, (uid) => uid));
    },
  };
  return { open: (_, use) => use(source), clock };
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
