import { bestEffort, deadline } from "../../../base/async.ts";
import { agentError } from "../errors.ts";
import type { AcpModel } from "../process/agent-spec.ts";
import { launchFor } from "../style.ts";
import { type AgentParts, errorContext } from "../turn-parts.ts";
import { withEfforts } from "./efforts.ts";

const discardMs = 5_000;

/**
 * The models that a new session of the agent offers; the session is discarded and nothing is asked. An agent without a model
 * option has one model, `default`.
 */
export async function listModels(parts: AgentParts, signal: AbortSignal): Promise<readonly AcpModel[]> {
  const { spec, pool } = parts;
  try {
    const lease = await pool.lease(launchFor({ ...spec, styles: { text: "ask" } }, "text", undefined), signal);
    try {
      const { id, options } = await lease.process.newSession(signal).catch((error: unknown) => {
        lease.process.isStale ||= agentError(error, errorContext(parts)).code === "not_signed_in"; // it never learns of a sign-in
        throw error;
      });
      await bestEffort(lease.process.discard(id, deadline(signal, discardMs)));
      return withEfforts(options) ?? [{ ...onlyModel, label: lease.process.abilities.name ?? spec.name }];
    } finally {
      lease.release();
    }
  } catch (error) {
    if (signal.aborted) throw error;
    throw agentError(error, errorContext(parts));
  }
}

const onlyModel = { id: "default", description: undefined, group: undefined, isCurrent: true };
