import type { CascadeId } from "../../../base/ids.ts";

/** The id under which the rest of Millrace knows a session of an agent: `acp:<agent>:<session id>`. */
export function cascadeIdOf(agent: string, sessionId: string): CascadeId {
  return `acp:${agent}:${sessionId}` as CascadeId; // the one place that makes them
}

/** The session's id; undefined for an id of another agent or of no agent. */
export function sessionIdOf(agent: string, cascadeId: CascadeId | undefined): string | undefined {
  const prefix = `acp:${agent}:`;
  return cascadeId?.startsWith(prefix) === true && cascadeId.length > prefix.length
    ? cascadeId.slice(prefix.length)
    : undefined;
}
