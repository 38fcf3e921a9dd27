import { Counter, Gauge, Histogram, Registry } from "prom-client";
import type { EventSource } from "../../base/emitter.ts";
import { ideName } from "../../base/ide-name.ts";
import type { TurnLifecycle } from "../../turns/lifecycle.ts";
import type { FinishedTurn } from "../../usage/history/finished-turn.ts";
import type { UsageLifecycle } from "../../usage/lifecycle.ts";
import type { Limits } from "../../usage/meter.ts";
import { LoopLag } from "./loop-lag.ts";
import { type AgentStats, agentGauges, limitGauges } from "./read-gauges.ts";

/** How a stream ended: with the turn's own end, or because its reader left first. */
export type StreamOutcome = "finished" | "failed" | "cancelled" | "left";

const requestSeconds = [0.005, 0.05, 0.25, 1, 5, 15, 60, 300, 1800];
const firstTokenSeconds = [0.1, 0.25, 0.5, 1, 2, 5, 10, 30, 60, 120];
const turnSeconds = [1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800];
const lagSeconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5];

/** Which IDEs come and go. */
export interface IdeCounts {
  readonly ide_found: { readonly variant: string };
  readonly ide_lost: { readonly variant: string };
}

/** Values that other parts hold and that are read at each scrape. */
export interface Gauges {
  /** Undefined where there is no meter. */
  readonly limits: Limits | undefined;
  /** Bytes on disk; undefined where the log has no file. */
  readonly logBytes: number | undefined;
  /** Whether the log cannot be written. */
  readonly degraded?: boolean | undefined;
  /** Whether the log was found damaged when it was opened. */
  readonly damaged?: boolean;
  /** Turns whose prompt was sent or may be sent, and turns that wait for that. */
  readonly load?: { readonly running: number; readonly waiting: number };
  readonly paused?: boolean;
  /** The models that a limit blocks now, by the names that the other series have; epoch ms. */
  readonly blocked?: readonly { readonly model: string; readonly code: string; readonly untilMs: number }[];
  /** Undefined where no agent program can be asked. */
  readonly agents?: readonly AgentStats[] | undefined;
}

/**
 * The gateway's metrics: names and units by Prometheus' conventions, labels from closed sets. Each gateway has its own registry, so
 * that two gateways in one process do not mix.
 */
export class GatewayMetrics {
  /** Of the series of ended turns: all, and those that failed. */
  readonly turns = { ended: 0, failed: 0 };
  readonly #registry = new Registry();
  readonly #setLimits = limitGauges(this.#registry);
  readonly #setAgents = agentGauges(this.#registry);
  /** The event loop lag of this process; empty until it is watched. */
  readonly loopLag = new LoopLag(this.#registry);
  readonly #requests = this.#counter("millrace_http_requests_total", "Requests answered.", [
    "method",
    "route",
    "status",
  ]);
  readonly #seconds = this.#histogram("millrace_http_request_seconds", "Time to the head of the answer.", {
    labelNames: ["route"],
    buckets: requestSeconds,
  });
  readonly #turns = this.#counter("millrace_turns_total", "Requests that started or joined a turn.", [
    "dialect",
    "joined",
  ]);
  readonly #turnsEnded = this.#counter("millrace_turns_ended_total", "Turns that ended, by how.", [
    "dialect",
    "model",
    "outcome",
  ]);
  readonly #errors = this.#counter("millrace_turn_errors_total", "Turns that failed, by the code of their error.", [
    "dialect",
    "model",
    "code",
  ]);
  readonly #refused = this.#counter(
    "millrace_requests_refused_total",
    "Requests for an answer that became no turn, by client and error; a client beyond the first thirty is `other`.",
    ["client", "code"],
  );
  readonly #blocked = this.#gauge(
    "millrace_model_blocked_until_timestamp_seconds",
    "Until when a limit keeps a model from being asked.",
    ["model", "code"],
  );
  readonly #running = this.#gauge("millrace_turns_running", "Turns that run now.");
  readonly #waiting = this.#gauge("millrace_turns_waiting", "Turns in the queue, whose prompt is not sent yet.");
  readonly #paused = this.#gauge("millrace_paused", "1 while `millrace pause` holds.");
  readonly #ides = this.#gauge("millrace_ides", "IDEs that the last search found running.", ["ide"]);
  readonly #tokens = this.#counter(
    "millrace_tokens_total",
    "Tokens of ended turns; `estimated`: counted by Millrace, because the IDE reported none.",
    ["kind", "source"],
  );
  readonly #firstToken = this.#histogram(
    "millrace_first_token_seconds",
    "Time from a turn's request to its first text, thinking or tool call, of turns that ended.",
    { labelNames: ["dialect", "model"], buckets: firstTokenSeconds },
  );
  readonly #turnSeconds = this.#histogram("millrace_turn_seconds", "Time from a turn's request to its end.", {
    labelNames: ["dialect", "model"],
    buckets: turnSeconds,
  });
  readonly #deltaLag = this.#histogram(
    "millrace_delta_lag_seconds",
    "Time from storing a delta to sending it to a connected reader; replayed deltas are not counted.",
    { labelNames: [], buckets: lagSeconds },
  );
  readonly #polls = this.#counter("millrace_upstream_polls_total", "Polls of running turns that the IDE answered.", []);
  readonly #open = this.#gauge("millrace_streams_open", "Streams open now.");
  readonly #ended = this.#counter("millrace_streams_ended_total", "Streams that ended, by how.", ["outcome"]);
  readonly #heartbeats = this.#counter("millrace_heartbeats_total", "No-op events sent in silence.", []);
  readonly #degraded = this.#gauge("millrace_degraded", "1 while the log of turns cannot be written.");
  readonly #damaged = this.#gauge("millrace_store_damaged", "1 where the store was found damaged when it was opened.");
  /** Without a value there is no series: a log without a file has no size, not size 0. */
  readonly #logBytes = this.#gauge("millrace_log_bytes", "Size of the event log on disk.");

  constructor(version: string) {
    this.#gauge("millrace_build_info", "Always 1; the label says the version.", ["version"]).set({ version }, 1);
  }

  request(method: string, route: string, status: number, seconds: number): void {
    this.#requests.inc({ method, route, status: String(status) });
    this.#seconds.observe({ route }, seconds);
  }

  turn(dialect: string, joined: string): void {
    this.#turns.inc({ dialect, joined });
  }

  /** Counts polls, and each turn once, when the history has it. */
  subscribe(
    events: EventSource<Pick<TurnLifecycle, "turn_polled"> & Pick<UsageLifecycle, "turn_ended"> & IdeCounts>,
  ): void {
    events.on("ide_found", ({ variant }) => this.#ides.inc({ ide: ideName(variant) }));
    events.on("ide_lost", ({ variant }) => this.#ides.dec({ ide: ideName(variant) }));
    events.on("turn_polled", () => this.#polls.inc());
    events.on("turn_ended", (turn) => this.#turnEnded(turn));
  }

  #turnEnded(turn: FinishedTurn): void {
    const { dialect, outcome, tokenSource: source, firstTokenMs } = turn;
    const model = turn.modelName ?? turn.model;
    this.#turnsEnded.inc({ dialect, model, outcome });
    this.turns.ended += 1;
    if (outcome === "failed") this.turns.failed += 1;
    if (outcome === "failed") this.#errors.inc({ dialect, model, code: turn.reason });
    this.#turnSeconds.observe({ dialect, model }, Math.max(0, turn.endedAtMs - turn.startedAtMs) / 1000);
    if (firstTokenMs !== undefined) this.#firstToken.observe({ dialect, model }, firstTokenMs / 1000);
    if (source === "unknown") return;
    this.#tokens.inc({ kind: "prompt", source }, turn.promptTokens);
    this.#tokens.inc({ kind: "completion", source }, turn.completionTokens);
    this.#tokens.inc({ kind: "thinking", source }, turn.thinkingTokens);
  }

  refused(client: string, code: string): void {
    this.#refused.inc({ client, code });
  }

  deltaHanded(lagMs: number): void {
    this.#deltaLag.observe(Math.max(0, lagMs) / 1000);
  }

  streamOpened(): void {
    this.#open.inc();
  }

  streamEnded(outcome: StreamOutcome): void {
    this.#open.dec();
    this.#ended.inc({ outcome });
  }

  heartbeat(): void {
    this.#heartbeats.inc();
  }

  /** All metrics in Prometheus' format, and their content type. */
  async write({
    limits,
    logBytes,
    degraded = false,
    damaged = false,
    load = { running: 0, waiting: 0 },
    paused = false,
    blocked = [],
    agents = [],
  }: Gauges): Promise<{ readonly text: string; readonly contentType: string }> {
    this.#setLimits(limits);
    this.#setAgents(agents);
    this.loopLag.set();
    if (logBytes === undefined) this.#logBytes.remove();
    else this.#logBytes.set(logBytes);
    this.#degraded.set(degraded ? 1 : 0);
    this.#running.set(load.running);
    this.#waiting.set(load.waiting);
    this.#paused.set(paused ? 1 : 0);
    this.#damaged.set(damaged ? 1 : 0);
    this.#blocked.reset();
    for (const { model, code, untilMs } of blocked) this.#blocked.set({ model, code }, untilMs / 1000);
    return { text: await this.#registry.metrics(), contentType: this.#registry.contentType };
  }

  #counter<L extends string>(name: string, help: string, labelNames: readonly L[]): Counter<L> {
    return new Counter({ name, help, labelNames, registers: [this.#registry] });
  }

  #gauge<L extends string>(name: string, help: string, labelNames: readonly L[] = []): Gauge<L> {
    return new Gauge({ name, help, labelNames, registers: [this.#registry] });
  }

  #histogram<L extends string>(
    name: string,
    help: string,
    options: { readonly labelNames: readonly L[]; readonly buckets: number[] },
  ): Histogram<L> {
    return new Histogram({ name, help, ...options, registers: [this.#registry] });
  }
}
