import type { CascadeId } from "../../../base/ids.ts";
import type { Backend } from "../../backend.ts";
import { plainLaunch } from "../known/devin.ts";
import { turnFailure } from "../process/errors.ts";
import { sessionIdOf } from "../session/kept-sessions.ts";
import type { AgentParts } from "./acp-turn.ts";
import { resumeTurn, runTurn, unreachableMessage } from "./turn.ts";

/** An agent that speaks ACP: a session a turn, pushed updates, and its stored sessions to come back to. */
export function acpBackend(parts: AgentParts): Backend {
  return {
    kind: "acp",
    run: (prompt, options, signal) => runTurn(parts, prompt, options, signal),
    resume: (prompt, from, options, signal) => resumeTurn(parts, { prompt, from, options }, signal),
    waits: (cascadeId) => waits(parts, cascadeId),
    archive: (cascadeId, signal) => archive(parts, cascadeId, signal),
  };
}

async function waits({ spec, pool, moved }: AgentParts, cascadeId: CascadeId): Promise<boolean> {
  const { id } = await moved.last(sessionIdOf(spec.name, cascadeId) ?? "");
  const places = pool.processes.map(({ sessions }) => sessions.get(id)?.state.place);
  return places.includes("parked") || places.includes("left");
}

/**
 * Stops the session if it still works, and deletes it if the agent can delete sessions. Throws where a turn has it, or where the gateway before
 * left a prompt there that waits for results. To delete a session that no process has open, a process is started if none runs. An agent that
 * cannot delete is not started.
 */
async function archive(parts: AgentParts, cascadeId: CascadeId, signal: AbortSignal): Promise<void> {
  const { spec, pool, moved } = parts;
  const logged = sessionIdOf(spec.name, cascadeId);
  if (logged === undefined) return;
  const { id } = await moved.last(logged); // one that was noted as discarded may still be there: its agent died meanwhile
  const here = await pool.leaseHolding(id);
  if (here === "busy") throw turnFailure(unreachableMessage);
  if (here === undefined) await parts.hosts?.othersOver(signal);
  const isOutOfReach = here === undefined && pool.lastAbilities?.canDelete === false;
  const lease = isOutOfReach ? undefined : (here ?? (await pool.lease(plainLaunch(spec), signal)));
  try {
    const session = here?.process.sessions.get(id);
    if (session === undefined) await lease?.process.deleteStored(id, signal);
    else await session.end({ type: "expired" });
  } finally {
    lease?.release();
  }
  await moved.forget(logged);
}
