import type { Clock } from "../../base/clock.ts";
import type { Secret } from "../../base/secret.ts";
import type { IdeVariant } from "../../language-server/transport/endpoint.ts";
import type { Trace } from "../discover/trace.ts";
import type { Ide } from "../ide.ts";
import { type FoundToken, tokenSources } from "./csrf-token.ts";
import type { CandidatePort } from "./ports.ts";
import type { Probe } from "./probe-port.ts";

/** How long an attempt takes that finds a healthy server on loopback. */
const attemptMs = 1_000;
/** The same for every port that took the connection and was silent, if no other port answered: a busy server is slow and not absent. */
const patientMs = 5_000;
/** The same where nothing else runs here, or where this server was as slow before. */
const mostPatientMs = 10_000;

/** How long a server's port is waited for that once needed so long. */
function patienceFor(tookMs: number | undefined): number {
  return tookMs === undefined ? patientMs : Math.min(mostPatientMs, Math.max(patientMs, 3 * tookMs));
}

/** A port that answered, how, and to which token. */
export type AnsweringPort = CandidatePort &
  Pick<Ide["endpoint"], "tls" | "protocol"> & {
    readonly token: Secret;
    /** How long the attempt took that found it. */
    readonly tookMs: number;
  };

export interface PortsToProbe {
  readonly variant: IdeVariant;
  readonly ports: readonly CandidatePort[];
  readonly tokens: readonly FoundToken[];
  /** The port that answered last time, and how long that took. */
  readonly known: { readonly port: number; readonly tookMs: number } | undefined;
  /** Whether nothing else runs here, so that this server is waited for as long as any. */
  readonly isLast?: boolean;
  readonly clock: Pick<Clock, "monotonic">;
}

/** How much longer than others a server may be examined that was slow before; ms. */
export function extraTimeFor(tookMs: number): number {
  return patienceFor(tookMs) - patientMs;
}

/**
 * Asks port by port, each with each token, until one answers; then the silent ones again, all at the same time and with more patience;
 * else the first that replied with an error. A server's ports come in no fixed order. Source: docs/dev/wire/devin-desktop.md, "Processes".
 */
export async function probePorts(
  probe: Probe,
  { variant, ports, tokens, known, isLast = false, clock }: PortsToProbe,
  trace: Trace,
  signal: AbortSignal,
): Promise<AnsweringPort | undefined> {
  let unsure: AnsweringPort | undefined;
  const silent: CandidatePort[] = [];

  /** The port, if it answers to one of the tokens. */
  async function ask(
    { host, port }: CandidatePort,
    patience: number,
    signal: AbortSignal,
  ): Promise<AnsweringPort | undefined> {
    const subject = host === "127.0.0.1" ? `port ${port}` : `port ${port} of ${host}`;
    for (const { token, source } of tokens) {
      const startedAtMs = clock.monotonic();
      const verdict = await probe({ variant, host, port, csrfToken: token, attemptMs: patience }, signal);
      if (!verdict.ok) {
        const isSlow = verdict.reason === "timeout";
        const slow = `takes connections, but answers slowly: not within ${patience / 1000} s`;
        if (isSlow && patience < patientMs) {
          silent.push({ host, port });
          trace.note("probe", subject, "slow", `${slow}; it is asked again with more patience`);
        } else trace.rejected("probe", subject, verdict.reason, isSlow ? slow : verdict.why);
        if (verdict.reason !== "token_refused") return undefined; // another token changes nothing
        continue;
      }
      const tookMs = clock.monotonic() - startedAtMs;
      const answered = { host, port, tls: verdict.tls, protocol: verdict.protocol, token, tookMs };
      if (verdict.unsure === true) {
        trace.note("probe", subject, "replied", "replies, but with an error; taken only if no other port answers");
        unsure ??= answered;
        return undefined;
      }
      const wire = `${verdict.protocol} ${verdict.tls ? "over TLS" : "without TLS"}`;
      const slowly = tookMs > attemptMs ? ` slowly (after ${(tookMs / 1000).toFixed(1)} s)` : "";
      const why = `the language server answers${slowly}, ${wire}, with the token from ${tokenSources[source]}`;
      trace.kept("probe", subject, "answered", why);
      return answered;
    }
    return undefined;
  }

  for (const [at, port] of ports.entries()) {
    const answered = await ask(port, port.port === known?.port ? patienceFor(known.tookMs) : attemptMs, signal);
    if (answered !== undefined) return answered;
    if (silent.length === 0) continue;
    // Where one is silent the others may be as slow: one after the other they would take too long.
    const other = await firstOf(ports.slice(at + 1), (each, waiting) => ask(each, attemptMs, waiting), signal);
    if (other !== undefined) return other;
    break;
  }
  if (unsure === undefined) {
    const patience = isLast ? mostPatientMs : patientMs;
    const answered = await firstOf(silent, (port, waiting) => ask(port, patience, waiting), signal);
    if (answered !== undefined) return answered;
  }
  if (unsure !== undefined) trace.kept("probe", `port ${unsure.port}`, "replied", "no other port of it answers");
  return unsure;
}

/** Asks all at the same time. The first that answers is taken, and the others are waited for no longer. */
async function firstOf(
  ports: readonly CandidatePort[],
  ask: (port: CandidatePort, signal: AbortSignal) => Promise<AnsweringPort | undefined>,
  signal: AbortSignal,
): Promise<AnsweringPort | undefined> {
  const enough = new AbortController();
  const waiting = AbortSignal.any([signal, enough.signal]);
  let first: AnsweringPort | undefined;
  await Promise.all(
    ports.map(async (port) => {
      try {
        const answered = await ask(port, waiting);
        first ??= answered; // `first ??= await` would read it before the wait
      } catch (error) {
        if (first === undefined) throw error;
      }
      if (first !== undefined) enough.abort();
    }),
  );
  return first;
}
