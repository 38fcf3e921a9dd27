import type { ProbeTarget } from "../../language-server/probe/probe.ts";
import type { WireProtocol } from "../../language-server/transport/endpoint.ts";

/** A port's answer to the probe; after `token_refused` another token may work. */
export type ProbeVerdict =
  | {
      readonly ok: true;
      readonly tls: boolean;
      readonly protocol: WireProtocol;
      /** It replied with an error: a port that answers is to be preferred. */
      readonly unsure?: true;
    }
  | { readonly ok: false; readonly reason: string; readonly why: string };

/**
 * Asks a port whether the language server answers there, and how. It never sends an API key or a prompt, and throws only the signal's
 * reason. `language-server/probe.ts` has the real one.
 */
export type Probe = (target: ProbeTarget, signal: AbortSignal) => Promise<ProbeVerdict>;
