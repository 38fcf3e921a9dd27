import type { OpenBackends } from "../../backends/open-backend.ts";
import { isMillraceError } from "../../base/errors.ts";
import type { DiscoveryResult, IdeFinder } from "../../ide/ide.ts";

/** What `/health` shows to who has the key: the IDEs found and where prompts go. Plain JSON, no secrets. */
export function healthDetails(
  finder: IdeFinder,
  backends: Pick<OpenBackends, "chosen">,
): (signal: AbortSignal) => Promise<unknown> {
  return async (signal) => ({
    ...describeIdes(await finder.find(signal)),
    backend: await describeBackend(backends, signal),
  });
}

function describeIdes({ ides, atMs }: DiscoveryResult): object {
  return {
    looked_at: new Date(atMs).toISOString(),
    ides: ides.map(({ variant, build, pid, signedIn }) => ({
      variant,
      build,
      pid,
      signed_in: signedIn,
      state: variant === "antigravity" ? "metered only" : signedIn ? "ready" : "not signed in",
    })),
  };
}

/** Where prompts without an agent's name go now and why; or why they can go nowhere, and what to do. */
export interface BackendInUse {
  readonly kind: "acp" | "cascade" | "raw_chat" | "none";
  readonly why: string;
  /** The vendor's agent, where it is asked. */
  readonly product?: string;
  /** The vendor's agent, where prompts go to the language server: it takes those for models that only the agent offers. */
  readonly beside?: string;
  readonly hint?: string;
}

/** Sends no prompt and starts no agent. */
export async function describeBackend(
  backends: Pick<OpenBackends, "chosen">,
  signal: AbortSignal,
): Promise<BackendInUse> {
  try {
    const { kind, why, agent, beside } = await backends.chosen(signal);
    return {
      kind,
      why,
      ...(agent === undefined ? {} : { product: agent.product }),
      ...(beside === undefined ? {} : { beside: beside.product }),
    };
  } catch (error) {
    if (!isMillraceError(error)) throw error;
    return { kind: "none", why: error.message, hint: error.hint };
  }
}
