import type { CascadeId } from "../../../base/ids.ts";
import { notReached, turnFailure } from "../process/errors.ts";
import type { Lease } from "../process/process-pool.ts";
import type { AgentProcess } from "../session/agent-process.ts";
import { sessionIdOf } from "../session/kept-sessions.ts";
import type { Session } from "../session/session.ts";
import type { AcpTurn } from "./acp-turn.ts";

/** How long a follow-up waits for a process that lives and cannot be reached, and how long between two looks; ms. */
const reachMs = 60_000;
const againMs = 500;
/** How long a session in which nothing waits is worth waiting for, whose relay looks for the new gateway; ms. */
const relayMs = 5_000;

/** A session that the agent has stored. */
export interface StoredSession {
  readonly id: string;
  /** As of `MovedSessions.last`. */
  readonly before: number;
  /** Where a process has it open. */
  readonly session: Session | undefined;
}

/** The session of a conversation, or the one that took its place last. The turn leases the process that has it open, if any has. */
export async function findSession(turn: AcpTurn, continues: CascadeId): Promise<StoredSession> {
  const { spec, moved } = turn.parts;
  const logged = sessionIdOf(spec.name, continues);
  if (logged === undefined) throw turnFailure(goneMessage); // it is another agent's
  let lease = await reach(turn, logged);
  const here = { id: logged, before: 0, isDiscarded: false }; // where a process has it, no other session took its place
  const { id, before, isDiscarded } = lease === undefined ? await moved.last(logged) : here;
  if (isDiscarded) throw turnFailure(goneMessage);
  if (id !== logged) {
    turn.replaced = logged;
    lease = await reach(turn, id);
  }
  if (lease === "busy") throw notReached(spec.name);
  const session = lease && turn.use(lease).sessions.get(id); // it may have gone away meanwhile
  const { place, relay } = session?.state ?? {};
  if (session !== undefined && place !== "running" && (place === "left" || relay === "away"))
    await untilKnown(turn, session);
  return { id, before, session };
}

/**
 * The process that has the session; undefined where the system says that there is none. One that only cannot be reached may still work on
 * a prompt, so it is waited for; `busy` after `ms`, by default a minute.
 */
export async function reach(
  turn: AcpTurn,
  id: string,
  ms = reachMs,
): Promise<Lease<AgentProcess> | "busy" | undefined> {
  const found = await lookFor(turn, ms, async () => {
    const lease = await turn.parts.pool.leaseHolding(id);
    return lease === "busy" ? undefined : { lease };
  });
  return found === undefined ? "busy" : found.lease;
}

/**
 * Waits until this gateway knows all that an agent did in a session that the gateway before left: its relay comes back by itself, and its lines
 * are read. A prompt that waits for results is not given up before it has ended: after a minute this throws `upstream_timeout`, and it waits on.
 */
async function untilKnown(turn: AcpTurn, { tools, prompt, works, process }: Session): Promise<void> {
  const waiting = works && turn.prompt.native?.results !== undefined ? prompt : undefined;
  const known = async () => {
    await tools?.connection;
    await process.child.caughtUp();
    return "known";
  };
  let found: string | undefined;
  const ended = waiting === undefined ? [] : [waiting.ended.then(() => "gone")];
  const news = Promise.race([known(), ...ended]).then((what) => (found = what));
  await lookFor(turn, waiting === undefined ? relayMs : reachMs, async () => found, news);
  if (found === undefined && waiting !== undefined) throw notReached(turn.parts.spec.name);
  if (found !== "known") throw turnFailure(goneMessage);
}

/**
 * What `look` finds now, twice a second, and at the news; undefined where it found nothing for `ms`. The turn counts as alive meanwhile.
 */
async function lookFor<T>(
  { parts: { clock }, options, signal }: AcpTurn,
  ms: number,
  look: () => Promise<T | undefined>,
  ...news: readonly Promise<unknown>[]
): Promise<T | undefined> {
  const untilMs = clock.monotonic() + ms;
  for (;;) {
    const found = await look();
    if (found !== undefined || clock.monotonic() >= untilMs) return found;
    options.onAlive();
    await Promise.race([clock.sleep(againMs, signal), ...news]);
  }
}

/** The message of a turn whose conversation cannot be continued. */
export const goneMessage = "The agent no longer has the conversation to continue.";
export const busyMessage = "The agent is still busy with the conversation to continue.";
