import type { Secret } from "../../base/secret.ts";
import type { IdeVariant } from "../../language-server/transport/endpoint.ts";
import type { Trace } from "../discover/trace.ts";
import type { Ide } from "../ide.ts";
import { type FoundToken, tokenSources } from "./csrf-token.ts";
import type { CandidatePort } from "./ports.ts";
import type { Probe } from "./probe-port.ts";

const attemptMs = 1_000; // loopback: what takes longer is not answering
/** The same for a port that answered before: a machine that is busy, or just woke up, must not lose its IDE. */
const knownAttemptMs = 2_500;

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
 * Asks port by port, each with each token, until one answers; else the first that replied with an error. A server's ports come in no fixed order. Source: docs/wire/devin-desktop.md, "Processes".
 */
export async function probePorts(
  probe: Probe,
  { variant, ports, tokens, knownPort }: PortsToProbe,
  trace: Trace,
  signal: AbortSignal,
): Promise<AnsweringPort | undefined> {
  let unsure: AnsweringPort | undefined;
  for (const { host, port } of ports) {
    const patience = port === knownPort ? knownAttemptMs : attemptMs;
    for (const { token, source } of tokens) {
      const target = { variant, host, port, csrfToken: token, attemptMs: patience };
      const verdict = await probe(target, signal);
      const subject = host === "127.0.0.1" ? `port ${port}` : `port ${port} of ${host}`;
      if (verdict.ok) {
        const answered = { host, port, tls: verdict.tls, protocol: verdict.protocol, token };
        if (verdict.unsure === true) {
          trace.note("probe", subject, "replied", "replies, but with an error; taken only if no other port answers");
          unsure ??= answered;
          break;
        }
        const wire = `${verdict.protocol} ${verdict.tls ? "over TLS" : "without TLS"}`;
        trace.kept(
          "probe",
          subject,
          "answered",
          `the language server answers, ${wire}, with the token from ${tokenSources[source]}`,
        );
        return answered;
      }
      trace.rejected("probe", subject, verdict.reason, verdict.why);
      if (verdict.reason !== "token_refused") break; // another token changes nothing
    }
  }
  if (unsure !== undefined) trace.kept("probe", `port ${unsure.port}`, "replied", "no other port of it answers");
  return unsure;
}
