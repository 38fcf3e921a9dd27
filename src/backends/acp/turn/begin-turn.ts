import { bestEffort, notNeeded } from "../../../base/async.ts";
import type { Prompt } from "../../backend.ts";
import { untilSlow } from "../process/agent-starter.ts";
import { turnFailure, twiceIfKilled } from "../process/errors.ts";
import { configure } from "../session/configure.ts";
import type { AcpTurn } from "./acp-turn.ts";
import { busyMessage, findSession, goneMessage, type StoredSession } from "./held-session.ts";

interface Begun {
  readonly asked: Prompt;
  /** Of the conversation that it continues. */
  readonly stored: StoredSession | undefined;
}

/**
 * Gives the turn a session, a fresh one or the one that goes on, and its prompt the way that its tools go. Answers how many user messages
 * count before those of the session, as `last` of `session/moved-sessions.ts` has it. Nothing is sent yet, so all of it may be done twice.
 */
export async function begin(turn: AcpTurn): Promise<number> {
  const { parts, signal, prompt } = turn;
  const stored = prompt.continues === undefined ? undefined : await findSession(turn, prompt.continues);
  const [gaveUp, over] = [new AbortController(), new AbortController()];
  const agent = {
    name: parts.spec.name,
    heardMs: () => Math.max(parts.pool.startingHeardMs, turn.process?.child.heardMs ?? 0),
    method() {
      if (turn.process === undefined) return "initialize";
      if (turn.session !== undefined) return "session/set_config_option";
      return stored === undefined ? "session/new" : "session/load";
    },
  };
  void bestEffort(untilSlow(agent, parts.clock, over.signal).then((error) => gaveUp.abort(error)));
  const inTime = AbortSignal.any([signal, gaveUp.signal]);
  try {
    await twiceIfKilled(() => open(turn, { asked: prompt, stored }, inTime));
  } finally {
    over.abort(notNeeded);
  }
  return stored?.before ?? 0;
}

/**
 * The turn goes on in the session that a process has open, or in the stored one, or in a new one: with the client's tools as the agent's own
 * where the agent takes them, else calls go in prose. A stored session has no tools, so an agent that takes them gets the whole history in a new
 * one.
 */
async function open(turn: AcpTurn, { asked, stored }: Begun, signal: AbortSignal): Promise<void> {
  const { native } = asked;
  let session = stored?.session;
  for (const offered of stored === undefined && native !== undefined ? [native.tools, undefined] : [undefined]) {
    turn.ask(asked, (offered ?? session?.tools) !== undefined);
    if (session !== undefined) break;
    const process = await turn.lease(signal);
    if (offered !== undefined) session = await process.offerTools(offered, signal);
    else if (stored === undefined) session = await process.newSession(signal);
    else if (process.abilities.canLoad && (native === undefined || !process.mayOffer))
      ({ session } = await process.loadSession(stored.id, { fromStep: 0, before: stored.before }, signal));
    if (session !== undefined) break;
  }
  if (session === undefined || session.userMessages === stored?.before) throw turnFailure(goneMessage);
  const results = native?.results?.map(({ callId }) => callId);
  const next = session.goOn({ hasTools: native !== undefined, results });
  if (next === "busy") throw turnFailure(busyMessage);
  turn.session = session;
  if (typeof next === "object") throw turnFailure(`${goneMessage} (${next.anew})`);
  turn.owesResults = next === "results";
  if (stored?.session === undefined) await configure(session, turn, signal);
  else if (native !== undefined && !(await session.offer(native.tools, signal))) throw turnFailure(goneMessage);
}
