import type { AcpAgent } from "../../backends/acp/agent.ts";
import type { OpenBackends } from "../../backends/route/route.ts";
import { within } from "../../base/async.ts";
import type { Clock } from "../../base/clock.ts";
import { isMillraceError } from "../../base/errors.ts";
import { ideName } from "../../base/ide-name.ts";
import type { GatewayLog } from "../../gateway/http/log.ts";
import type { DiscoveryResult, IdeFinder } from "../../ide/ide.ts";
import type { BackendInUse } from "../gateway-process/gateway-client.ts";
import { nameWithKind } from "../serve/servers.ts";
import { stateOf } from "./ide-verdicts.ts";

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
  {
    clock,
    log = {},
    agents = [],
  }: {
    readonly clock: Clock;
    readonly log?: Pick<GatewayLog, "problem">;
    /** Those that are open. */
    readonly agents?: readonly Pick<AcpAgent, "newerThanTried">[];
  },
): () => Promise<unknown> {
  let known: object | undefined;
  let looking: Promise<object> | undefined;
  const look = async () => {
    const { signal } = new AbortController(); // the search continues for the next caller
    try {
      known = { ...describeIdes(await finder.find(signal)), backend: await backendInUse(backends, signal) };
    } finally {
      looking = undefined;
    }
    return known;
  };
  const newer = () => agents.flatMap(({ newerThanTried }) => newerThanTried ?? []);
  return async () => {
    looking ??= look();
    const details = (await within(looking, freshMs, clock)) ?? known;
    return details && { ...details, log_problem: log.problem?.(), newer_agents: newer() };
  };
}

function describeIdes({ ides, atMs }: DiscoveryResult): object {
  return {
    looked_at: new Date(atMs).toISOString(),
    ides: ides.map(({ variant, build, pid, signedIn }) => ({
      variant: ideName(variant),
      build,
      pid,
      signed_in: signedIn,
      state: stateOf({ variant, signed_in: signedIn }),
    })),
  };
}

/** Sends no prompt and starts no agent. */
export async function backendInUse(backends: Pick<OpenBackends, "chosen">, signal: AbortSignal): Promise<BackendInUse> {
  try {
    const { kind, why, agent, beside } = await backends.chosen(signal);
    const isStandIn = agent?.program?.standIn === true;
    return { kind, why, product: agent?.product, ...(isStandIn ? { stand_in: true } : {}), beside: beside?.product };
  } catch (error) {
    if (!isMillraceError(error)) throw error;
    return { kind: "none", why: error.message, hint: error.hint };
  }
}

const names: Readonly<Record<string, string>> = {
  acp: "the agent program",
  cascade: "Cascade",
  raw_chat: "raw chat",
};

/** The editor that prompts go to, in the product's own words, with the plan of its account: `Devin Desktop 2.3 (formerly Windsurf) (Teams)`. */
export function spellEditor(product: string, plan: string | null | undefined): string {
  return plan ? `${product} (${plan})` : product;
}

/**
 * Where prompts go, for a newcomer: the product where all is well (`editor` where a language server answers), and why and what to do if they
 * go nowhere. `doctor` has the reason.
 */
export function spellTarget({ kind, why, hint = "", ...to }: BackendInUse, editor: string | undefined): string {
  if (kind === "none") return `nothing yet: ${why} ${hint}`.trim();
  const agent = to.product && nameWithKind({ product: to.product, ...(to.stand_in === true ? { standIn: true } : {}) });
  const beside = to.beside === undefined ? "" : `; models that only its agent offers go to ${to.beside} (ACP)`;
  return `${(kind === "acp" ? agent : editor) ?? names[kind] ?? kind}${beside}`;
}
