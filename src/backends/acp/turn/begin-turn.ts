import { bestEffort, notNeeded, orAborted, within } from "../../../base/async.ts";
import type { NativePrompt, Prompt } from "../../backend.ts";
import { servesTools } from "../known/own-settings.ts";
import { untilSlow } from "../process/agent-starter.ts";
import { notReached, turnFailure, twiceIfKilled } from "../process/errors.ts";
import type { Lease } from "../process/process-pool.ts";
import { type AgentParts, launchOf } from "../session/agent-parts.ts";
import { type AgentProcess, NoDoor } from "../session/agent-process.ts";
import { configure } from "../session/configure.ts";
import type { AcpRun } from "../session/held-session.ts";
import { type OpenSession, sessionIdOf } from "../session/open-session.ts";
import type { SessionTools } from "../session/session-tools.ts";
import { untilQuiet } from "./drain.ts";
import { readReplay } from "./stored-turn.ts";

/** How long a follow-up waits for a process that lives and cannot be reached, and how long between two looks; ms. */
const reachMs = 60_000;
const againMs = 500;
/** How long a session in which nothing waits is worth waiting for, whose relay looks for the new gateway; ms. */
const relayMs = 5_000;

/**
 * The session of the turn, a fresh one or the one that goes on, and what to ask it. `waiting`: its prompt waits for results, and nothing is
 * asked. `before`: as `last` of `session/kept-sessions.ts` has it. Nothing is sent yet, so all of it may be done twice.
 */
export async function begin(turn: AcpRun) {
  const { native, continues } = turn.prompt;
  if (continues !== undefined) return await goOn(turn, continues);
  const fresh = async (patient: AcpRun) => {
    const { parts, held, signal } = patient;
    const begun = native === undefined ? undefined : await beginNatively(patient, native);
    if (begun !== undefined) return { ...begun, waiting: undefined, before: 0 };
    const prompt = asProse(turn.prompt);
    const lease = await parts.pool.lease(launchOf(parts, prompt), signal);
    held.hold(lease, undefined);
    const { process } = lease;
    const session = await process.newSession(signal);
    held.hold(lease, session);
    await configure({ ...patient, prompt }, process, session);
    return { process, session, prompt, waiting: undefined, before: 0 };
  };
  return await whileAlive(turn, "session/new", (patient) => twiceIfKilled(() => fresh(patient)));
}

/** Does `work` with a signal that aborts once the agent is too slow. `opens`: the request that opens the session. */
async function whileAlive<T>(turn: AcpRun, opens: string, work: (patient: AcpRun) => Promise<T>): Promise<T> {
  const { parts, held } = turn;
  const [gaveUp, over] = [new AbortController(), new AbortController()];
  const agent = {
    name: parts.spec.name,
    heardMs: () => Math.max(parts.pool.startingHeardMs, held.process?.child.heardMs ?? 0),
    method() {
      if (held.process === undefined) return "initialize";
      return held.session === undefined ? opens : "session/set_config_option";
    },
  };
  void bestEffort(untilSlow(agent, parts.clock, over.signal).then((error) => gaveUp.abort(error)));
  try {
    return await work({ ...turn, signal: AbortSignal.any([turn.signal, gaveUp.signal]) });
  } finally {
    over.abort(notNeeded);
  }
}

async function goOn(turn: AcpRun, continues: NonNullable<Prompt["continues"]>) {
  const { parts, held } = turn;
  const prompt = asProse(turn.prompt);
  const logged = sessionIdOf(parts.spec.name, continues);
  if (logged === undefined) throw turnFailure(otherAgentMessage);
  let here = await reach(turn, logged); // then no other session took its place
  const itself = { id: logged, before: 0, isDiscarded: false };
  const { id, before, isDiscarded } = here === undefined ? await parts.kept.last(logged) : itself;
  if (isDiscarded) throw turnFailure(goneMessage);
  if (id !== logged) held.replaced = logged;
  if (id !== logged) here = await reach(turn, id);
  if (here === "busy") throw notReached(parts.spec.name);
  const session = here?.process.sessions.get(id);
  if (here !== undefined && session !== undefined) {
    held.hold(here, undefined); // until it is known to be free it is another turn's
    if (session.isHeld || (session.tools === undefined && session.running !== undefined))
      throw turnFailure(busyMessage);
    if (session.tools !== undefined) await untilRelayIsBack(turn, session);
    held.hold(here, session);
    if (session.tools !== undefined)
      return { ...(await goOnNatively(turn, here.process, session, session.tools)), before };
    return { process: here.process, session, prompt, waiting: undefined, before };
  }
  here?.release(); // the session went away meanwhile
  return await whileAlive(turn, "session/load", async (patient) => {
    const lease = await parts.pool.lease(launchOf(parts, prompt), patient.signal);
    held.hold(lease, undefined);
    const { process } = lease;
    // a session that is loaded has no tools of the client, so an agent that takes them gets the whole history in a new one
    if (!process.abilities.canLoad || (turn.prompt.native !== undefined && mayTakeTools(parts, process)))
      throw turnFailure(goneMessage);
    const { session: loaded, replay } = await process.loadSession(id, patient.signal);
    const { userMessages } = readReplay(replay, 0, before);
    if (userMessages === before) throw turnFailure(goneMessage);
    loaded.userMessages = userMessages;
    held.hold(lease, loaded);
    await configure({ ...patient, prompt }, process, loaded);
    return { process, session: loaded, prompt, waiting: undefined, before };
  });
}

/** What `look` finds, which takes a moment each time; undefined where it found nothing for `ms`. The turn counts as alive meanwhile. */
async function lookFor<T>(turn: AcpRun, ms: number, look: () => Promise<T | undefined>): Promise<T | undefined> {
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
export async function reach(turn: AcpRun, id: string, ms = reachMs): Promise<Lease<AgentProcess> | "busy" | undefined> {
  const { pool, clock } = turn.parts;
  const found = await lookFor(turn, ms, async () => {
    const lease = await pool.leaseHolding(id);
    if (lease !== "busy") return { lease };
    await clock.sleep(againMs, turn.signal);
    return undefined;
  });
  return found === undefined ? "busy" : found.lease;
}

/**
 * Waits for the relay of a session, which comes back to a new gateway by itself. A prompt that waits for the results is not given up before it
 * has ended: after a minute this throws `upstream_timeout`, and the prompt waits on.
 */
async function untilRelayIsBack(turn: AcpRun, { tools, running }: OpenSession): Promise<void> {
  const { spec, clock } = turn.parts;
  const waiting = turn.prompt.native?.results === undefined ? undefined : running;
  const back = tools?.connection.then(() => "back") ?? Promise.resolve("gone");
  const ended = waiting?.ended.then(() => "gone");
  const news = orAborted(Promise.race([back, ...(ended === undefined ? [] : [ended])]), turn.signal);
  const found = await lookFor(turn, waiting === undefined ? relayMs : reachMs, () => within(news, againMs, clock));
  if (found === undefined && waiting !== undefined) throw notReached(spec.name);
  if (found !== "back") throw turnFailure(goneMessage);
}

/** A session whose agent has the client's tools: its prompt waits for results, or it is free for the next one. */
async function goOnNatively(turn: AcpRun, process: AgentProcess, session: OpenSession, tools: SessionTools) {
  const { parts, prompt } = turn;
  const { native } = prompt;
  parts.kept.goOn(session.id);
  if (native === undefined) throw turnFailure(goneMessage);
  const waiting = session.running?.end === undefined ? session.running : undefined;
  const results = native.results?.map(({ callId }) => callId);
  if (waiting !== undefined && results !== undefined) await takeUp(turn, process, session, results);
  const { given, lost } = tools;
  const isFree = waiting === undefined && given.length === 0 && lost === 0;
  const state = { isRunning: waiting !== undefined, given, lost, takesTools: true };
  let choice = isFree ? "free" : continueParked(results, state);
  if (choice === "go_on")
    choice = continueParked(results, { ...state, takesTools: await takesTools(turn, process, tools, native) });
  if (choice !== "free" && choice !== "go_on") throw turnFailure(`${goneMessage} (${choice})`);
  tools.offer(native.tools);
  return { process, session, prompt: asNative(prompt, native), waiting };
}

/**
 * The gateway before may have been killed after the end of its turn was stored and before the host had a note of it. Then the client has
 * calls that this process counts as new. The agent waits for their results, so it has written all of that turn.
 */
async function takeUp(
  { parts, signal }: AcpRun,
  process: AgentProcess,
  session: OpenSession,
  results: readonly string[],
): Promise<void> {
  const { tools, running } = session;
  const stored = tools?.fresh.filter(({ callId }) => results.includes(callId)) ?? [];
  if (tools === undefined || running === undefined || stored.length === 0 || tools.given.length > 0) return;
  await untilQuiet(running, parts.clock, signal);
  running.skip();
  running.begin();
  tools.give(stored, process.child.host?.read);
  session.settle();
  process.note();
}

/** The message of a turn whose conversation cannot be continued. */
export const goneMessage = "The agent no longer has the conversation to continue.";
const otherAgentMessage = "The conversation to continue belongs to another agent.";
const busyMessage = "The agent is still busy with the conversation to continue.";

/**
 * Whether the next request of a conversation goes on with the prompt that waits, else why everything is asked anew. Its caller, model and
 * history were compared before: only a conversation that holds exactly the client's history comes here. `results` are the ids of the results
 * that follow the last answer, undefined where anything else follows it. Pure.
 */
export function continueParked(
  results: readonly string[] | undefined,
  state: {
    /** The agent still works on the prompt. */
    readonly isRunning: boolean;
    /** The calls that the client has and that the agent waits for. */
    readonly given: readonly string[];
    /** How many calls the client has that the agent gave up. */
    readonly lost: number;
    /** The tools are those that the agent has, or it has listed the new ones. */
    readonly takesTools: boolean;
  },
): "go_on" | "no_results" | "prompt_ended" | "calls_given_up" | "other_calls" | "nothing_waits" | "other_tools" {
  if (results === undefined) return "no_results";
  if (!state.isRunning) return "prompt_ended";
  if (state.lost > 0) return "calls_given_up";
  if (state.given.length === 0) return "nothing_waits";
  const isSame = results.length === state.given.length && state.given.every((callId) => results.includes(callId));
  if (!isSame) return "other_calls";
  return state.takesTools ? "go_on" : "other_tools";
}

/** How long an agent may take to ask for the tools of a new session, and for changed ones; ms. */
const listMs = 3_000;

/** The prompt for an agent that has the client's tools as its own. */
export function asNative(prompt: Prompt, { instructions, text }: NativePrompt): Prompt {
  return { ...prompt, instructions, text, form: "text" };
}

/** The prompt that teaches calls in prose. */
export function asProse(prompt: Prompt): Prompt {
  const { native: _native, ...prose } = prompt;
  return prose;
}

/** Whether the agent has these tools in a session whose prompt waits: it is told of other ones, and may list them again. */
export async function takesTools(
  { parts, signal }: AcpRun,
  process: AgentProcess,
  tools: SessionTools,
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

function mayTakeTools(parts: AgentParts, process: AgentProcess): boolean {
  return servesTools(parts.spec, process.abilities.version) && parts.knowledge.mayOffer(versionOf(parts, process));
}

/** What is known of an agent's tools is known of this. */
export function versionOf({ spec }: AgentParts, { abilities }: AgentProcess): string {
  return `${abilities.name ?? spec.name} ${abilities.version ?? ""}`.trim();
}

/**
 * A session whose agent has the tools of the prompt; undefined for an agent that does not take them. Whether it does shows before a
 * prompt is sent: an agent that takes the server asks it for its tools.
 */
export async function beginNatively(turn: AcpRun, native: NativePrompt) {
  const { parts, held, signal } = turn;
  const { knowledge } = parts;
  const prompt = asNative(turn.prompt, native);
  const lease = await parts.pool.lease(launchOf(parts, prompt), signal);
  const { process } = lease;
  const version = versionOf(parts, process);
  held.hold(lease, undefined);
  if (!mayTakeTools(parts, process)) return undefined;
  const session = await process.newSession(signal, native.tools).catch((error: unknown) => {
    if (error instanceof NoDoor) return undefined; // as in a home that cannot be written: the tools go in prose
    throw error;
  });
  if (session === undefined) return undefined;
  const listed = session.tools?.listed.then(() => true) ?? Promise.resolve(false);
  const isListed = (await within(listed, listMs, parts.clock)) === true;
  if (isListed) {
    await bestEffort(knowledge.note(version, true)); // it is found out again where it cannot be written
    held.hold(lease, session);
    await configure({ ...turn, prompt }, process, session);
    return { process, session, prompt };
  }
  knowledge.noteUnlisted(version);
  await bestEffort(process.discard(session.id, signal));
  return undefined;
}
