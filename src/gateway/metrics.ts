import { Counter, Gauge, Histogram, Registry } from "prom-client";

/** How a stream ended: with the turn's own end, or because its reader left first. */
export type StreamOutcome = "finished" | "failed" | "cancelled" | "left";

const requestSeconds = [0.005, 0.05, 0.25, 1, 5, 15, 60, 300, 1800];
const firstContentSeconds = [0.1, 0.25, 0.5, 1, 2, 5, 10, 30, 60, 120];

/** What the gateway counts. A registry of its own: two gateways in one process do not mix. Labels come from closed sets. */
export class GatewayMetrics {
  readonly #registry = new Registry();
  readonly #requests = this.#counter("millrace_http_requests_total", "Requests answered.", [
    "method",
    "route",
    "status",
  ]);
  readonly #seconds = new Histogram({
    name: "millrace_http_request_seconds",
    help: "Time to the head of the answer.",
    labelNames: ["route"],
    buckets: requestSeconds,
    registers: [this.#registry],
  });
  readonly #turns = this.#counter("millrace_turns_total", "Requests that started or joined a turn.", [
    "dialect",
    "joined",
  ]);
  readonly #firstContent = new Histogram({
    name: "millrace_first_content_seconds",
    help: "Time from the request to the first content of a new turn.",
    labelNames: ["dialect"],
    buckets: firstContentSeconds,
    registers: [this.#registry],
  });
  readonly #open = this.#gauge("millrace_streams_open", "Streams open now.");
  readonly #ended = this.#counter("millrace_streams_ended_total", "Streams that ended, by how.", ["outcome"]);
  readonly #heartbeats = this.#counter("millrace_heartbeats_total", "No-op events sent in silence.", []);
  readonly #degraded = this.#gauge("millrace_degraded", "1 while the log of turns cannot be written.");

  constructor(version: string) {
    this.#gauge("millrace_build_info", "Always 1; the label says the version.", ["version"]).set({ version }, 1);
  }

  request(method: string, route: string, status: number, seconds: number): void {
    this.#requests.inc({ method, route, status: String(status) });
    this.#seconds.observe({ route }, seconds);
  }

  turn(dialect: string, joined: string, degraded: boolean): void {
    this.#turns.inc({ dialect, joined });
    this.#degraded.set(degraded ? 1 : 0);
  }

  firstContent(dialect: string, seconds: number): void {
    this.#firstContent.observe({ dialect }, seconds);
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

  /** All of it as Prometheus reads it, and the content type that says so. */
  async write(): Promise<{ readonly text: string; readonly contentType: string }> {
    return { text: await this.#registry.metrics(), contentType: this.#registry.contentType };
  }

  #counter<L extends string>(name: string, help: string, labelNames: readonly L[]): Counter<L> {
    return new Counter({ name, help, labelNames, registers: [this.#registry] });
  }

  #gauge<L extends string>(name: string, help: string, labelNames: readonly L[] = []): Gauge<L> {
    return new Gauge({ name, help, labelNames, registers: [this.#registry] });
  }
}
