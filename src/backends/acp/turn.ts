import { isTerminal, type TurnEventBody } from "../../log/event.ts";
import { type AnswerSoFar, answerDiff, emptyAnswer } from "../answer-diff.ts";
import type { Batch, Prompt, ResumePoint, RunOptions } from "../backend.ts";
import { estimatedUsage } from "../turn-usage.ts";
import type { AcpTurn } from "./acp-turn.ts";
import { conclude } from "./conclusion.ts";
import { agentError, turnFailure, twiceIfKilled } from "./errors.ts";
import type { AgentProcess, OpenSession } from "./process/agent-process.ts";
import type { PromptEnd, RunningPrompt } from "./running-prompt.ts";
import { HeldSession } from "./session/held-session.ts";
import { type BegunTurn, type Found, lookAgain } from "./session/look-again.ts";
import { readReplay } from "./session/replayed-turn.ts";
import { cascadeIdOf, sessionIdOf } from "./session/session-id.ts";
import { usageEvent } from "./token-counts.ts";
import { type AgentParts, blocksOf, configure, errorContext, launchOf } from "./turn-parts.ts";
import { watchSilence } from "./watch-silence.ts";

/** One turn from its beginning: the contract of `Backend.run`. */
export function runTurn(
  parts: AgentParts,
  prompt: Prompt,
  options: RunOptions,
  signal: AbortSignal,
): AsyncGenerator<Batch, void> {
  const turn: AcpTurn = { parts, prompt, options, signal, held: new HeldSession(parts) };
  return guarded(turn, async function* () {
    const { process, session } = await begin(turn);
    const { held } = turn;
    const blocks = blocksOf(launchOf(parts, prompt).style, process, session, prompt);
    const fromStep = session.userMessages;
    const cascadeId = prompt.continues ?? cascadeIdOf(parts.spec.name, session.id);
    const { modelUid } = prompt;
    const place = fromStep === 0 ? {} : { fromStep };
    held.named = true;
    yield [{ type: "started", modelUid, backend: "acp", cascadeId, ide: parts.spec.ide, ...place }];
    signal.throwIfAborted();
    const begun = { sessionId: session.id, fromStep, sent: emptyAnswer, answered: false, deaths: 0 };
    await options.beforePrompt?.(signal);
    yield* follow(turn, begun, send(turn, process, session, blocks));
  });
}

/** A turn that another process began: the contract of `Backend.resume`. */
export function resumeTurn(
  parts: AgentParts,
  { prompt, from, options }: { readonly prompt: Prompt; readonly from: ResumePoint; readonly options: RunOptions },
  signal: AbortSignal,
): AsyncGenerator<Batch, void> {
  const turn: AcpTurn = { parts, prompt, options, signal, held: new HeldSession(parts) };
  return guarded(turn, async function* () {
    const logged = sessionIdOf(parts.spec.name, from.cascadeId);
    if (logged === undefined) throw turnFailure(noSessionMessage);
    turn.held.named = true;
    const sessionId = await parts.notes.current(logged);
    if (sessionId === undefined) throw turnFailure(discardedMessage);
    if (sessionId !== logged) turn.held.replaced = logged;
    const sent = { text: from.text, thinking: from.thinking };
    const answered = from.answered === true || from.text !== "" || from.thinking !== "";
    const begun = { sessionId, fromStep: from.fromStep ?? 0, sent, answered, deaths: 0 };
    const running = openHere(turn, begun);
    if (running === undefined) {
      yield* recover(turn, begun);
      return;
    }
    running.skip();
    const { events, sent: now } = answerDiff(sent, running.reader.answer, false);
    if (events.length > 0) yield events;
    yield* follow(turn, { ...begun, sent: now }, running);
  });
}

/** Runs the body; errors become `failed`, an abort ends it without a word, and the session is cleaned up in any case. */
async function* guarded(turn: AcpTurn, body: () => AsyncGenerator<Batch, void>): AsyncGenerator<Batch, void> {
  const { held, options, signal, parts } = turn;
  if (signal.aborted) return;
  try {
    for await (const batch of body()) {
      const end = batch.find(isTerminal);
      if (end !== undefined) {
        held.ended = end.type === "finished" ? "finished" : "otherwise";
        held.told = true;
      }
      yield batch;
    }
  } catch (error) {
    if (signal.aborted) return;
    held.ended = "otherwise";
    yield [{ type: "failed", error: agentError(error, errorContext(parts)).toRecord() }];
  } finally {
    await held.close({ ...options, keep: options.keep && held.told }, signal);
  }
}

/** The session of the turn: a fresh one, or the one that goes on. Nothing is sent yet, so all of it may be done twice. */
async function begin(turn: AcpTurn): Promise<{ readonly process: AgentProcess; readonly session: OpenSession }> {
  const { parts, prompt, held, signal } = turn;
  if (prompt.continues !== undefined) return await goOn(turn, prompt.continues);
  return await twiceIfKilled(async () => {
    const lease = await parts.pool.lease(launchOf(parts, prompt), signal);
    held.hold(lease, undefined);
    const { process } = lease;
    const session = await process.newSession(signal);
    held.hold(lease, session);
    await configure(turn, process, session);
    return { process, session };
  });
}

async function goOn(
  turn: AcpTurn,
  continues: NonNullable<Prompt["continues"]>,
): Promise<{ readonly process: AgentProcess; readonly session: OpenSession }> {
  const { parts, prompt, held, signal } = turn;
  const logged = sessionIdOf(parts.spec.name, continues);
  if (logged === undefined) throw turnFailure(otherAgentMessage);
  const id = await parts.notes.current(logged);
  if (id === undefined) throw turnFailure(goneMessage);
  if (id !== logged) held.replaced = logged;
  const here = parts.pool.leaseHolding(id);
  const session = here?.process.sessions.get(id);
  if (here !== undefined && session !== undefined) {
    held.hold(here, undefined); // until it is known to be free it is another turn's
    if (session.running !== undefined) throw turnFailure(busyMessage);
    held.hold(here, session);
    return { process: here.process, session };
  }
  const lease = await parts.pool.lease(launchOf(parts, prompt), signal);
  held.hold(lease, undefined);
  if (!lease.process.abilities.canLoad) throw turnFailure(goneMessage);
  const loaded = await lease.process.loadSession(id, signal);
  loaded.session.userMessages = readReplay(loaded.replay, 0).userMessages;
  if (loaded.session.userMessages === 0) throw turnFailure(goneMessage);
  held.hold(lease, loaded.session);
  await configure(turn, lease.process, loaded.session);
  return { process: lease.process, session: loaded.session };
}

/** The prompt of a begun turn where a process of ours still has its session: running, ended, or sent now for the first time. */
function openHere(turn: AcpTurn, { sessionId, fromStep, answered }: BegunTurn): RunningPrompt | undefined {
  const { parts, prompt, held } = turn;
  const lease = parts.pool.leaseHolding(sessionId);
  const session = lease?.process.sessions.get(sessionId);
  if (lease === undefined || session === undefined) return undefined;
  if (session.userMessages === fromStep + 1 && session.last !== undefined) {
    held.hold(lease, session);
    return session.last;
  }
  if (session.userMessages === fromStep && !answered) {
    held.hold(lease, session);
    const { style } = launchOf(parts, prompt);
    return send(turn, lease.process, session, blocksOf(style, lease.process, session, prompt));
  }
  lease.release();
  return undefined;
}

/** The only place that sends a prompt. */
function send(
  { parts, prompt }: AcpTurn,
  process: AgentProcess,
  session: OpenSession,
  blocks: object[],
): RunningPrompt {
  session.told = prompt.instructions;
  parts.onPrompt();
  return process.prompt(session, blocks);
}

/** Follows a prompt to the end of its turn. When the process dies on the way, the stored session decides what happens next. */
async function* follow(turn: AcpTurn, begun: BegunTurn, running: RunningPrompt): AsyncGenerator<Batch, void> {
  const { parts, prompt } = turn;
  const { end, sent } = yield* drain(turn, begun.sent, running);
  if (end.type !== "died") {
    if (end.type === "answered") parts.pool.worked(launchOf(parts, prompt).key);
    yield* conclusion(turn, end, running);
    return;
  }
  if (begun.deaths > 0) throw turnFailure(diedTwiceMessage(end.how));
  const answered = begun.answered || sent.text !== "" || sent.thinking !== "";
  yield* recover(turn, { ...begun, sent, answered, deaths: begun.deaths + 1 }, end.how);
}

/** Decides by the stored session: finishes, fails by name, or sends a prompt that was certainly never accepted. */
async function* recover(turn: AcpTurn, begun: BegunTurn, how?: string): AsyncGenerator<Batch, void> {
  const { parts, prompt, options, signal } = turn;
  const found = await twiceIfKilled(() => lookAgain(turn, begun));
  if (found.type === "absent") {
    const { process, session } = found;
    const { style } = launchOf(parts, prompt);
    await options.beforePrompt?.(signal);
    const running = send(turn, process, session, blocksOf(style, process, session, prompt));
    yield* follow(turn, { ...begun, sessionId: session.id }, running);
    return;
  }
  yield* fromReplay(turn, begun.sent, found, how);
}

async function* fromReplay(
  turn: AcpTurn,
  sent: AnswerSoFar,
  { type, turn: { reader } }: Exclude<Found, { readonly type: "absent" }>,
  how: string | undefined,
): AsyncGenerator<Batch, void> {
  const isWhole = type === "whole";
  const { events } = answerDiff(sent, reader.answer, isWhole);
  if (events.length > 0) yield events;
  turn.signal.throwIfAborted();
  if (!isWhole) throw turnFailure(cutMessage(how));
  yield* conclusion(turn, { type: "answered", stopReason: "end_turn", tokens: undefined }, { reader });
}

/** Passes on the agent's updates, one batch for each read of its pipe, until the prompt has ended or must be stopped. */
async function* drain(
  { parts, options, signal }: AcpTurn,
  before: AnswerSoFar,
  running: RunningPrompt,
): AsyncGenerator<Batch, { readonly end: PromptEnd; readonly sent: AnswerSoFar }> {
  const watching = watchSilence(running, parts, options.onAlive);
  let { text, thinking } = before;
  let heard = running.heard;
  try {
    for (;;) {
      signal.throwIfAborted();
      if (running.heard !== heard) options.onAlive();
      ({ heard } = running);
      const events = running.take();
      for (const event of events) {
        if (event.type === "text") text += event.delta;
        if (event.type === "thinking") thinking += event.delta;
      }
      if (events.length > 0) {
        yield events;
        continue;
      }
      const end = running.reader.effect === undefined ? running.end : stoppedByUs;
      if (end !== undefined) return { end, sent: { text, thinking } };
      await running.changed(signal);
    }
  } finally {
    watching.abort();
  }
}

/** The end that the agent would report for a turn that a tool step ends; the reader adds the step's name. */
const stoppedByUs: PromptEnd = { type: "answered", stopReason: "cancelled", tokens: undefined };

/** Usage and the terminal event. The session is discarded after that: until the end is stored it is the only evidence. */
async function* conclusion(
  turn: AcpTurn,
  end: Exclude<PromptEnd, { readonly type: "died" }>,
  { reader }: Pick<RunningPrompt, "reader">,
): AsyncGenerator<Batch, void> {
  const { parts, prompt, held } = turn;
  const last = conclude(end, reader, errorContext(parts));
  await held.stop();
  const tokens = (end.type === "answered" ? end.tokens : undefined) ?? reader.tokens;
  const usage: TurnEventBody[] =
    tokens !== undefined
      ? [usageEvent(tokens)]
      : last.type === "finished"
        ? [estimatedUsage(prompt, reader.answer)]
        : [];
  yield [...usage, last];
}

function diedTwiceMessage(how: string): string {
  return `The agent's process ended again (${how}) after this turn continued in a new one. The part that arrived was kept.`;
}

function cutMessage(how: string | undefined): string {
  const why = how === undefined ? "" : ` (${how})`;
  return (
    `The agent's process ended before it said that its answer was complete${why}. The part that arrived was kept, and the prompt ` +
    "was not sent again."
  );
}

const noSessionMessage =
  "The gateway stopped while this turn ran, and no session of the agent was noted for it. The prompt was not sent again.";
const discardedMessage =
  "The session of this turn was deleted before the end of the answer was stored. The part that arrived was kept, and the prompt was not sent again.";
const otherAgentMessage = "The conversation to continue belongs to another agent.";
const busyMessage = "The agent is still busy with the conversation to continue.";
const goneMessage = "The agent no longer has the conversation to continue.";
