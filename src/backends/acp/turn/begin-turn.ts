import { bestEffort, notNeeded, orAborted, within } from "../../../base/async.ts";
import type { CascadeId } from "../../../base/ids.ts";
import type { NativePrompt, Prompt } from "../../backend.ts";
import { untilSlow } from "../process/agent-starter.ts";
import { notReached, turnFailure, twiceIfKilled } from "../process/errors.ts";
import type { Lease } from "../process/process-pool.ts";
import { launchOf, versionOf } from "../session/agent-parts.ts";
import { type AgentProcess, NoDoor } from "../session/agent-process.ts";
import { sessionIdOf } from "../session/kept-sessions.ts";
import type { Session } from "../session/session.ts";
import { nextStep } from "../session/states.ts";
import type { AcpTurn } from "./acp-turn.ts";
import { untilQuiet } from "./drain.ts";
import { readReplay } from "./stored-turn.ts";

/** How long a follow-up waits for a process that lives and cannot be reached, and how long between two looks; ms. */
const reachMs = 60_000;
const againMs = 500;
/** How long a session in which nothing waits is worth waiting for, whose relay looks for the new gateway; ms. */
const relayMs = 5_000;
/** How long an agent may take to ask for the tools of a new session, and for changed ones; ms. */
const listMs = 3_000;

/**
 * Gives the turn a session, a fresh one or the one that goes on, and its prompt the way that its tools go. Answers whether a prompt waits
 * there for results, so that nothing is asked; `before`: as `last` of `session/moved-sessions.ts` has it. Nothing is sent yet, so all of it
 * may be done twice.
 */
export async function begin(turn: AcpTurn): Promise<{ readonly waits: boolean; readonly before: number }> {
  const asked = turn.prompt;
  const { continues } = asked;
  if (continues === undefined) {
    await whileAlive(turn, "session/new", (signal) => twiceIfKilled(() => openFresh(turn, asked, signal)));
    return { waits: false, before: 0 };
  }
  const { id, before, lease } = await findSession(turn, continues);
  const session = lease?.process.sessions.get(id);
  if (lease !== undefined && session !== undefined) return { waits: await goOn(turn, lease, session), before };
  lease?.release(); // the session went away meanwhile
  await whileAlive(turn, "session/load", (signal) => load(turn, { id, before }, signal));
  return { waits: false, before };
}

/** Does `work` with a signal that aborts once the agent is too slow. `opens`: the request that opens the session. */
async function whileAlive(turn: AcpTurn, opens: string, work: (signal: AbortSignal) => Promise<void>): Promise<void> {
  const { parts } = turn;
  const [gaveUp, over] = [new AbortController(), new AbortController()];
  const agent = {
    name: parts.spec.name,
    heardMs: () => Math.max(parts.pool.startingHeardMs, turn.process?.child.heardMs ?? 0),
    method() {
      if (turn.process === undefined) return "initialize";
      return turn.session === undefined ? opens : "session/set_config_option";
    },
  };
  void bestEffort(untilSlow(agent, parts.clock, over.signal).then((error) => gaveUp.abort(error)));
  try {
    await work(AbortSignal.any([turn.signal, gaveUp.signal]));
  } finally {
    over.abort(notNeeded);
  }
}

/** A new session, whose agent has the client's tools as its own where it takes them; else calls go in prose. */
async function openFresh(turn: AcpTurn, asked: Prompt, signal: AbortSignal): Promise<void> {
  const { parts } = turn;
  const { native } = asked;
  turn.prompt = asked;
  if (native !== undefined) {
    turn.askNatively(native);
    const process = turn.use(await parts.pool.lease(launchOf(parts, turn.prompt), signal));
    const session = mayTakeTools(turn, process) ? await openWithTools(turn, process, native, signal) : undefined;
    if (session !== undefined) return await turn.setUp(process, session, signal);
  }
  turn.prompt = asked;
  turn.askInProse();
  const process = turn.use(await parts.pool.lease(launchOf(parts, turn.prompt), signal));
  await turn.setUp(process, await process.newSession(signal), signal);
}

function mayTakeTools({ parts }: AcpTurn, process: AgentProcess): boolean {
  return parts.knowledge.mayOffer(versionOf(parts, process));
}

/**
 * A session whose agent has these tools; undefined for an agent that does not take them. Whether it does shows before a prompt is sent: an
 * agent that takes the server asks it for its tools.
 */
async function openWithTools(
  { parts }: AcpTurn,
  process: AgentProcess,
  { tools }: NativePrompt,
  signal: AbortSignal,
): Promise<Session | undefined> {
  const { knowledge, clock } = parts;
  const session = await process.newSession(signal, tools).catch((error: unknown) => {
    if (error instanceof NoDoor) return undefined; // as in a home that cannot be written: the tools go in prose
    throw error;
  });
  if (session?.tools === undefined) return undefined;
  const listed = session.tools.listed.then(() => true);
  if ((await within(listed, listMs, clock)) === true) return session;
  knowledge.noteWithout(versionOf(parts, process));
  await bestEffort(session.end({ type: "expired" }));
  return undefined;
}

/** The session of a conversation, or the one that took its place last, and the process that has it open, if any has. */
async function findSession(turn: AcpTurn, continues: CascadeId) {
  const { spec, moved } = turn.parts;
  const logged = sessionIdOf(spec.name, continues);
  if (logged === undefined) throw turnFailure(goneMessage); // it is another agent's
  let lease = await reach(turn, logged); // where one has it, no other session took its place
  let place = { id: logged, before: 0 };
  if (lease === undefined) {
    const { isDiscarded, ...last } = await moved.last(logged);
    if (isDiscarded) throw turnFailure(goneMessage);
    place = last;
  }
  if (place.id !== logged) {
    turn.replaced = logged;
    lease = await reach(turn, place.id);
  }
  if (lease === "busy") throw notReached(spec.name);
  return { ...place, lease };
}

/** Takes a session that a process has open. Answers whether its prompt waits for the results that the turn brings. */
async function goOn(turn: AcpTurn, lease: Lease<AgentProcess>, session: Session): Promise<boolean> {
  const { native } = turn.prompt;
  const process = turn.use(lease);
  const results = native?.results?.map(({ callId }) => callId);
  const asked = { hasTools: native !== undefined, results };
  if (nextStep(asked, session.state) === "wait") await untilRelayIsBack(turn, session);
  // one that an earlier gateway left has written all of its turn, but this gateway has not read all of it
  const { prompt, fresh } = session;
  if (session.state.place === "left" && prompt !== undefined && fresh.some(({ callId }) => results?.includes(callId)))
    await untilQuiet(prompt, turn.parts.clock, turn.signal);
  const next = nextStep(asked, session.state);
  if (next === "wait") throw turnFailure(goneMessage);
  if (next === "busy" || !turn.take(session, results)) throw turnFailure(busyMessage);
  if (typeof next === "object") throw turnFailure(`${goneMessage} (${next.anew})`);
  turn.owesResults = next === "results";
  if (native === undefined || session.tools === undefined) turn.askInProse();
  else {
    if (next === "results" && !(await takesOther(turn, process, session.tools, native))) throw turnFailure(goneMessage);
    session.tools.offer(native.tools);
    turn.askNatively(native);
  }
  return next === "results";
}

/**
 * Waits for the relay of a session, which comes back to a new gateway by itself. A prompt that waits for the results is not given up before it
 * has ended: after a minute this throws `upstream_timeout`, and the prompt waits on.
 */
async function untilRelayIsBack(turn: AcpTurn, { tools, prompt, works }: Session): Promise<void> {
  const { spec, clock } = turn.parts;
  const waiting = works && turn.prompt.native?.results !== undefined ? prompt : undefined;
  const back = tools?.connection.then(() => "back") ?? Promise.resolve("gone");
  const ended = waiting === undefined ? [] : [waiting.ended.then(() => "gone")];
  const news = orAborted(Promise.race([back, ...ended]), turn.signal);
  const found = await lookFor(turn, waiting === undefined ? relayMs : reachMs, () => within(news, againMs, clock));
  if (found === undefined && waiting !== undefined) throw notReached(spec.name);
  if (found !== "back") throw turnFailure(goneMessage);
}

/** Whether the agent has these tools in a session whose prompt waits: it is told of other ones, and may list them again. */
async function takesOther(
  { parts, signal }: AcpTurn,
  process: AgentProcess,
  tools: NonNullable<Session["tools"]>,
  native: NativePrompt,
): Promise<boolean> {
  if (!tools.differFrom(native.tools)) return true;
  const { knowledge } = parts;
  const version = versionOf(parts, process);
  if (!knowledge.mayChange(version)) return false;
  tools.offer(native.tools);
  const isListed = tools.listed.then(() => true);
  const takes = (await within(orAborted(isListed, signal), listMs, parts.clock)) === true;
  if (!takes) knowledge.noteUnchanged(version);
  return takes;
}

/** Opens a stored session. It has no tools of the client, so an agent that takes them gets the whole history in a new one. */
async function load(
  turn: AcpTurn,
  { id, before }: { readonly id: string; readonly before: number },
  signal: AbortSignal,
): Promise<void> {
  const hasTools = turn.prompt.native !== undefined;
  turn.askInProse();
  const process = turn.use(await turn.parts.pool.lease(launchOf(turn.parts, turn.prompt), signal));
  if (!process.abilities.canLoad || (hasTools && mayTakeTools(turn, process))) throw turnFailure(goneMessage);
  const { session, replay } = await process.loadSession(id, signal);
  const { userMessages } = readReplay(replay, 0, before);
  if (userMessages === before) throw turnFailure(goneMessage);
  session.userMessages = userMessages;
  await turn.setUp(process, session, signal);
}

/** What `look` finds, which takes a moment each time; undefined where it found nothing for `ms`. The turn counts as alive meanwhile. */
async function lookFor<T>(turn: AcpTurn, ms: number, look: () => Promise<T | undefined>): Promise<T | undefined> {
  const { clock } = turn.parts;
  const untilMs = clock.monotonic() + ms;
  for (;;) {
    const found = await look();
    if (found !== undefined || clock.monotonic() >= untilMs) return found;
    turn.options.onAlive();
  }
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
  const { pool, clock } = turn.parts;
  const found = await lookFor(turn, ms, async () => {
    const lease = await pool.leaseHolding(id);
    if (lease !== "busy") return { lease };
    await clock.sleep(againMs, turn.signal);
    return undefined;
  });
  return found === undefined ? "busy" : found.lease;
}

/** The message of a turn whose conversation cannot be continued. */
export const goneMessage = "The agent no longer has the conversation to continue.";
export const busyMessage = "The agent is still busy with the conversation to continue.";
