import type { OpenBackends } from "../../backends/open-backend.ts";
import { within } from "../../base/async.ts";
import type { Clock } from "../../base/clock.ts";
import { isMillraceError } from "../../base/errors.ts";
import type { DiscoveryResult, IdeFinder } from "../../ide/ide.ts";

/** How long an answer of `/health` waits for news of the IDE; ms. */
const freshMs = 50;

/**
 * The details of `/health` for a caller with the key: the IDEs found and where prompts go. Plain JSON, no secrets. A search for an IDE
 * may take seconds, and `/health` must not. So while a search runs, the details are those of the earlier result, with its time. They
 * are undefined before the first search has ended.
 */
export function healthDetails(
  finder: Pick<IdeFinder, "find">,
  backends: Pick<OpenBackends, "chosen">,
  clock: Clock,
): () => Promise<unknown> {
  let known: unknown;
  let looking: Promise<unknown> | undefined;
  const look = async () => {
    const { signal } = new AbortController(); // the search continues for the next caller
    try {
      known = { ...describeIdes(await finder.find(signal)), backend: await backendInUse(backends, signal) };
    } finally {
      looking = undefined;
    }
    return known;
  };
  return async () => {
    looking ??= look();
    return (await within(looking, freshMs, clock)) ?? known;
  };
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

/** Where prompts without an agent's name go now and why; or why they can go nowhere, and the next step. */
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
export async function backendInUse(backends: Pick<OpenBackends, "chosen">, signal: AbortSignal): Promise<BackendInUse> {
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
