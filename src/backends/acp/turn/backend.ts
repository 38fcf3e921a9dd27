import type { CascadeId } from "../../../base/ids.ts";
import type { Backend } from "../../backend.ts";
import { plainLaunch } from "../known/devin.ts";
import { isUnknownSession, turnFailure } from "../process/errors.ts";
import type { AgentParts } from "../session/agent-parts.ts";
import { sessionIdOf } from "../session/open-session.ts";
import { resumeTurn, runTurn, unreachableMessage } from "./turn.ts";

/** An agent that speaks ACP: a session a turn, pushed updates, and its stored sessions to come back to. */
export function acpBackend(parts: AgentParts): Backend {
  return {
    kind: "acp",
    run: (prompt, options, signal) => runTurn(parts, prompt, options, signal),
    resume: (prompt, from, options, signal) => resumeTurn(parts, { prompt, from, options }, signal),
    archive: (cascadeId, signal) => archive(parts, cascadeId, signal),
  };
}

const waitsMessage = "A prompt of the gateway before waits for results in this session.";

/**
 * Stops the session if it still works, unless the gateway before left a prompt there that waits for results, and deletes it if the agent can delete sessions. To delete a session that no process has
 * open, a process is started if none runs. An agent that cannot delete is not started.
 */
async function archive(parts: AgentParts, cascadeId: CascadeId, signal: AbortSignal): Promise<void> {
  const { spec, pool, kept } = parts;
  const logged = sessionIdOf(spec.name, cascadeId);
  if (logged === undefined) return;
  const { id } = await kept.last(logged); // one that was noted as discarded may still be there: its agent died meanwhile
  const here = await pool.leaseHolding(id);
  if (here === "busy") throw turnFailure(unreachableMessage);
  if (here === undefined) await parts.hosts?.othersOver(signal);
  else {
    try {
      const { isLeft, running, tools } = here.process.sessions.get(id) ?? {};
      if (isLeft === true && running !== undefined && tools?.mayWait === true) throw turnFailure(waitsMessage);
      await kept.discard(here.process, id);
    } finally {
      here.release();
    }
    await kept.forget(logged);
    return;
  }
  if (pool.lastAbilities?.canDelete === false) {
    await kept.forget(logged);
    return;
  }
  const lease = await pool.lease(plainLaunch(spec), signal);
  try {
    if (lease.process.abilities.canDelete) await lease.process.discard(id, signal);
  } catch (error) {
    if (!isUnknownSession(error)) throw error; // it was never stored, or is deleted already
  } finally {
    lease.release();
  }
  await kept.forget(logged);
}
