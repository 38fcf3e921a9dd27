import type { Secret } from "../../base/secret.ts";
import type { IdeVariant } from "../../language-server/transport/endpoint.ts";
import type { Trace } from "../discover/trace.ts";
import type { Ide } from "../ide.ts";
import { type FoundToken, tokenSources } from "./csrf-token.ts";
import type { CandidatePort } from "./ports.ts";
import type { Probe } from "./probe-port.ts";

/** How long an attempt takes that finds a healthy server on loopback. */
const attemptMs = 1_000;
/**
 * The same for a port that answered before, and for every port that took the connection and was silent, if no other port answered:
 * a server that is slow, or whose machine is busy or just woke up, is slow and not absent.
 */
const patientMs = 5_000;

/** A port that answered, how, and to which token. */
export type AnsweringPort = CandidatePort & Pick<Ide["endpoint"], "tls" | "protocol"> & { readonly token: Secret };

export interface PortsToProbe {
  readonly variant: IdeVariant;
  readonly ports: readonly CandidatePort[];
  readonly tokens: readonly FoundToken[];
  /** The port that answered last time. */
  readonly knownPort: number | undefined;
}

/**
 * Asks port by port, each with each token, until one answers; then the silent ones again, all at the same time and with more patience;
 * else the first that replied with an error. A server's ports come in no fixed order. Source: docs/wire/devin-desktop.md, "Processes".
 */
export async function probePorts(
  probe: Probe,
  { variant, ports, tokens, knownPort }: PortsToProbe,
  trace: Trace,
  signal: AbortSignal,
): Promise<AnsweringPort | undefined> {
  let unsure: AnsweringPort | undefined;
  const silent: CandidatePort[] = [];

  /** The port, if it answers to one of the tokens. */
  async function ask({ host, port }: CandidatePort, patience: number): Promise<AnsweringPort | undefined> {
    const subject = host === "127.0.0.1" ? `port ${port}` : `port ${port} of ${host}`;
    for (const { token, source } of tokens) {
      const verdict = await probe({ variant, host, port, csrfToken: token, attemptMs: patience }, signal);
      if (!verdict.ok) {
        trace.rejected("probe", subject, verdict.reason, verdict.why);
        if (verdict.reason === "timeout" && patience < patientMs) silent.push({ host, port });
        if (verdict.reason !== "token_refused") return undefined; // another token changes nothing
        continue;
      }
      const answered = { host, port, tls: verdict.tls, protocol: verdict.protocol, token };
      if (verdict.unsure === true) {
        trace.note("probe", subject, "replied", "replies, but with an error; taken only if no other port answers");
        unsure ??= answered;
        return undefined;
      }
      const wire = `${verdict.protocol} ${verdict.tls ? "over TLS" : "without TLS"}`;
      const why = `the language server answers, ${wire}, with the token from ${tokenSources[source]}`;
      trace.kept("probe", subject, "answered", why);
      return answered;
    }
    return undefined;
  }

  for (const port of ports) {
    const answered = await ask(port, port.port === knownPort ? patientMs : attemptMs);
    if (answered !== undefined) return answered;
  }
  if (unsure === undefined) {
    const late = await Promise.all(silent.map((port) => ask(port, patientMs)));
    const answered = late.find((port) => port !== undefined);
    if (answered !== undefined) return answered;
  }
  if (unsure !== undefined) trace.kept("probe", `port ${unsure.port}`, "replied", "no other port of it answers");
  return unsure;
}
