import type { Clock } from "../../base/clock.ts";
import { type ErrorRecord, toMillraceError } from "../../base/errors.ts";
import type { BlockedModel } from "../../turns/refusals.ts";
import type { GatewayMetrics } from "../metrics/metrics.ts";
import type { BlockedEnvelope, RefusedEnvelope } from "./refused-envelope.ts";

/** Names and kinds that are kept apart. Anyone may send any name: the rest counts as one. */
const [mostNames, mostKinds] = [30, 60];
const otherName = "other";

type Kind = { -readonly [Name in keyof RefusedEnvelope["by"][number]]: RefusedEnvelope["by"][number][Name] };

/** The requests for an answer that were refused since the gateway's start: no turn tells of them. */
export class RefusedBook {
  readonly #clock: Clock;
  readonly #metrics: Pick<GatewayMetrics, "refused">;
  readonly #names = new Set<string>();
  readonly #kinds = new Map<string, Kind>();
  #requests = 0;

  constructor(clock: Clock, metrics: Pick<GatewayMetrics, "refused">) {
    this.#clock = clock;
    this.#metrics = metrics;
  }

  /** A client as it is counted, of `opencode/1.2.3`: `opencode`, `unknown`, or `other` where there are too many. */
  nameOf(product: string | undefined): string {
    const name = product?.split("/")[0] || "unknown";
    if (this.#names.has(name)) return name;
    if (this.#names.size >= mostNames) return otherName;
    this.#names.add(name);
    return name;
  }

  /** Counts one. `model`: its UID, where it came so far. */
  note(product: string | undefined, cause: unknown, model?: string): void {
    const error = toMillraceError(cause).toRecord();
    const client = this.nameOf(product);
    const at = new Date(this.#clock.now()).toISOString();
    this.#requests += 1;
    this.#metrics.refused(client, error.code);
    const id = `${client} ${error.code}`;
    const known = this.#kinds.get(id);
    this.#kinds.delete(id); // the newest is last
    this.#kinds.set(id, {
      client,
      code: error.code,
      requests: (known?.requests ?? 0) + 1,
      message: error.message,
      hint: error.hint,
      model: model ?? null,
      first_at: known?.first_at ?? at,
      last_at: at,
      until: this.#untilOf(error),
    });
    const [oldest] = this.#kinds.keys();
    if (this.#kinds.size > mostKinds && oldest !== undefined) this.#kinds.delete(oldest);
  }

  /** The newest first. */
  encode(): RefusedEnvelope {
    return { requests: this.#requests, by: [...this.#kinds.values()].reverse() };
  }

  #untilOf({ resetsAtMs, retryAfterMs }: ErrorRecord): string | null {
    const atMs = resetsAtMs ?? (retryAfterMs === undefined ? undefined : this.#clock.now() + retryAfterMs);
    return atMs === undefined ? null : new Date(atMs).toISOString();
  }
}

export function encodeBlocked(blocked: readonly BlockedModel[], nameOf: (uid: string) => string): BlockedEnvelope {
  return blocked.map(({ model, code, sinceMs, untilMs }) => ({
    model,
    model_name: nameOf(model),
    code,
    since: new Date(sinceMs).toISOString(),
    until: new Date(untilMs).toISOString(),
  }));
}
