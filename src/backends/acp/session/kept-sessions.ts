import { bestEffort } from "../../../base/async.ts";
import type { CascadeId } from "../../../base/ids.ts";
import type { Session } from "./session.ts";

/** How many prompts of an agent may wait for results; the oldest is cancelled for a further one. */
const mostParked = 16;

interface Holder {
  readonly sessions: ReadonlyMap<string, Session>;
}

/** Cancels the prompts that wait the longest, where too many wait in these processes. How long one may wait, `turns/continuity` decides. */
export function makeRoom(processes: readonly Holder[]): void {
  const parked = sessionsOf(processes).filter(({ state }) => state.place === "parked");
  const oldest = parked.sort((a, b) => a.restedMs - b.restedMs).slice(0, Math.max(0, parked.length - mostParked));
  for (const session of oldest) void session.expire();
}

/** Cancels the prompts that wait for any of these calls: the client asked in another way. */
export function supersede(processes: readonly Holder[], callIds: readonly string[]): void {
  for (const session of sessionsOf(processes)) void bestEffort(session.end({ type: "superseded", callIds }));
}

function sessionsOf(processes: readonly Holder[]): Session[] {
  return processes.flatMap(({ sessions }) => [...sessions.values()]);
}

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
