import { Gauge, type Registry } from "prom-client";
import { ideName } from "../../base/ide-name.ts";
import type { Limits } from "../../usage/meter.ts";

/**
 * The rest of each limit, as gauges: answers what replaces every series by the known values. An unknown limit has no series, never a 0;
 * an unlimited one is `+Inf`. After its reset has passed, a window is unknown until it is read again.
 */
export function limitGauges(registry: Registry): (limits: Limits | undefined) => void {
  const gauge = <L extends string>(name: string, help: string, labelNames: readonly L[]) =>
    new Gauge({ name, help, labelNames, registers: [registry] });
  const left = gauge(
    "millrace_limit_left",
    "What is left of a limit, in its own unit (credits, percent, usd, messages); +Inf if it is unlimited.",
    ["ide", "window", "unit"],
  );
  const leftRatio = gauge("millrace_limit_left_ratio", "Share of a limit that is left, 0 to 1.", ["ide", "window"]);
  const reset = gauge("millrace_limit_reset_timestamp_seconds", "When a limit resets.", ["ide", "window"]);
  const read = gauge("millrace_limits_read_timestamp_seconds", "When an IDE's limits were last read.", ["ide"]);
  const isStale = gauge("millrace_limits_stale", "1 while the last reading of an IDE is not fresh.", ["ide"]);
  return (limits) => {
    for (const each of [left, leftRatio, reset, read, isStale]) each.reset();
    for (const { snapshot, stale } of limits?.readings ?? []) {
      const ide = ideName(snapshot.ide);
      read.set({ ide }, snapshot.readAtMs / 1000);
      isStale.set({ ide }, stale ? 1 : 0);
      for (const { id: window, unit, resetsAtMs, state, remaining, utilization } of snapshot.windows) {
        if (resetsAtMs !== undefined) reset.set({ ide, window }, resetsAtMs / 1000);
        if (resetsAtMs !== undefined && resetsAtMs <= (limits?.nowMs ?? 0)) continue;
        const rest = state === "unlimited" ? Number.POSITIVE_INFINITY : remaining;
        if (rest !== undefined) left.set({ ide, window, unit }, rest);
        if (utilization !== undefined) leftRatio.set({ ide, window }, Math.max(0, 1 - utilization));
      }
    }
  };
}

/** An agent program's past and present work. Sizes in bytes, times in ms. */
export interface AgentStats {
  readonly agent: string;
  readonly processes: readonly {
    readonly rssBytes: number | undefined;
    readonly startupMs: number | undefined;
    readonly sessions: number;
    readonly runningTurns: number;
  }[];
  readonly starts: number;
  readonly crashes: number;
  readonly prompts: number;
}

/**
 * Gauges of the agent programs: answers what replaces every series by the current values. Agents of one name count together. An unknown
 * value has no series, never a 0.
 */
export function agentGauges(registry: Registry): (agents: readonly AgentStats[]) => void {
  const gauge = (name: string, help: string, value: (stats: AgentStats) => number | undefined) => ({
    gauge: new Gauge({ name, help, labelNames: ["agent"] as const, registers: [registry] }),
    value,
  });
  const gauges = [
    gauge("millrace_agent_processes", "Processes of an agent program that run now.", (s) => s.processes.length),
    gauge("millrace_agent_memory_bytes", "Resident memory of an agent's processes.", ({ processes }) =>
      sum(processes.map(({ rssBytes }) => rssBytes)),
    ),
    gauge(
      "millrace_agent_startup_seconds",
      "Time from the start of the newest process to its first answer.",
      ({ processes }) => seconds(processes.at(-1)?.startupMs),
    ),
    gauge("millrace_agent_sessions", "Sessions that an agent's processes hold.", ({ processes }) =>
      sum(processes.map(({ sessions }) => sessions)),
    ),
    gauge("millrace_agent_running_turns", "Turns that an agent works on now.", ({ processes }) =>
      sum(processes.map(({ runningTurns }) => runningTurns)),
    ),
    gauge("millrace_agent_starts", "Processes started since the gateway started.", ({ starts }) => starts),
    gauge("millrace_agent_crashes", "Processes that ended by themselves since the gateway started.", (s) => s.crashes),
    gauge("millrace_agent_prompts", "Prompts sent since the gateway started.", ({ prompts }) => prompts),
  ];
  return (agents) => {
    for (const { gauge: each, value } of gauges) {
      each.reset();
      for (const stats of agents) {
        const measured = value(stats);
        if (measured !== undefined) each.inc({ agent: stats.agent }, measured);
      }
    }
  };
}

function sum(values: readonly (number | undefined)[]): number | undefined {
  const known = values.filter((value) => value !== undefined);
  return known.length === 0 && values.length > 0 ? undefined : known.reduce((total, value) => total + value, 0);
}

function seconds(ms: number | undefined): number | undefined {
  return ms === undefined ? undefined : ms / 1000;
}
