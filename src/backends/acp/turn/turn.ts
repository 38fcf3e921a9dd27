import { bestEffort } from "../../../base/async.ts";
import { writeJson } from "../../../base/json.ts";
import { isTerminal, type TurnEventBody } from "../../../log/event.ts";
import { answerDiff, emptyAnswer } from "../../answer-diff.ts";
import { type Batch, type Prompt, parkedReason, type ResumePoint, type RunOptions } from "../../backend.ts";
import { estimatedUsage } from "../../turn-usage.ts";
import type { LinesLost } from "../host/wire.ts";
import { agentError, isUnknownSession, turnFailure, twiceIfKilled } from "../process/errors.ts";
import type { RelayedCall } from "../relay/relay-wire.ts";
import { cascadeIdOf, sessionIdOf, supersede } from "../session/kept-sessions.ts";
import { promptBlocks, rulesOf } from "../session/prompt-blocks.ts";
import type { PromptEnd, RunningPrompt } from "../session/running-prompt.ts";
import type { Session } from "../session/session.ts";
import { usageEvent } from "../wire/token-counts.ts";
import { AcpTurn, type AgentParts } from "./acp-turn.ts";
import { begin } from "./begin-turn.ts";
import { conclude, ignoresTools } from "./conclusion.ts";
import { drain } from "./drain.ts";
import { busyMessage, goneMessage, reach } from "./held-session.ts";
import { findStoredTurn, type TurnPrompt } from "./stored-turn.ts";

/** One turn from its beginning: the contract of `Backend.run`. */
export function runTurn(
  parts: AgentParts,
  prompt: Prompt,
  options: RunOptions,
  signal: AbortSignal,
): AsyncGenerator<Batch, void> {
  const turn = new AcpTurn(parts, prompt, options, signal);
  return guarded(turn, async function* () {
    const before = await begin(turn);
    const { session, owesResults: waits } = turn;
    if (session === undefined) throw turnFailure(goneMessage); // its agent died since
    const blocks = waits ? [] : promptBlocks(session, turn.prompt);
    const fromStep = session.userMessages;
    const cascadeId = prompt.continues ?? cascadeIdOf(parts.spec.name, session.id);
    const { modelUid } = prompt;
    const place = fromStep === 0 || waits ? {} : { fromStep };
    const tools = session.tools === undefined ? {} : ({ tools: "native" } as const);
    const goesOn = waits ? ({ goesOn: true } as const) : {};
    const { ide } = parts.spec;
    yield [{ type: "started", modelUid, backend: "acp", cascadeId, ide, ...place, ...tools, ...goesOn }];
    signal.throwIfAborted();
    const begun = { sessionId: session.id, fromStep, before, sent: emptyAnswer, answered: false, deaths: 0, ...goesOn };
    const results = turn.prompt.native?.results ?? [];
    turn.owesResults = false;
    const callIds = results.map(({ callId }) => callId);
    if (waits) session.answer(results);
    else supersede(parts.pool.processes, callIds);
    yield* follow(turn, begun, waits && session.prompt !== undefined ? session.prompt : send(turn, session, blocks));
  });
}

/** A turn that another process began: the contract of `Backend.resume`. */
export function resumeTurn(
  parts: AgentParts,
  { prompt, from, options }: { readonly prompt: Prompt; readonly from: ResumePoint; readonly options: RunOptions },
  signal: AbortSignal,
): AsyncGenerator<Batch, void> {
  const turn = new AcpTurn(parts, prompt, options, signal);
  turn.ask(prompt, from.tools === "native");
  return guarded(
    turn,
    async function* () {
      const logged = sessionIdOf(parts.spec.name, from.cascadeId);
      if (logged === undefined) throw turnFailure(noSessionMessage);
      const { id: sessionId, before, isDiscarded } = await parts.moved.last(logged);
      if (isDiscarded) throw turnFailure(discardedMessage);
      if (sessionId !== logged) turn.replaced = logged;
      const sent = { text: from.text, thinking: from.thinking };
      const answered = from.answered === true || from.text !== "" || from.thinking !== "";
      const goesOn = from.goesOn === true ? ({ goesOn: true } as const) : {};
      const begun = { sessionId, fromStep: from.fromStep ?? 0, before, sent, answered, deaths: 0, ...goesOn };
      const running = await openHere(turn, begun);
      if (running === undefined) {
        yield* recover(turn, begun);
        return;
      }
      running.skip();
      const { events, sent: now } = answerDiff(sent, running.reader.answer, false);
      if (events.length > 0) yield events;
      yield* follow(turn, { ...begun, sent: now }, running);
    },
    true,
  );
}

/**
 * Runs the body; errors become `failed`, an abort ends it without a word, and the session is cleaned up in any case. `isNamed`: the caller
 * has the session's id before the first batch.
 */
async function* guarded(
  turn: AcpTurn,
  body: () => AsyncGenerator<Batch, void>,
  isNamed = false,
): AsyncGenerator<Batch, void> {
  const { signal, parts } = turn;
  if (signal.aborted) return;
  let hasId = isNamed;
  let ended: "finished" | "otherwise" | undefined;
  const end = (event: TurnEventBody) => {
    ended = event.type === "finished" ? "finished" : "otherwise";
    // a process and its sessions never learn of a sign-in that came after their start, so the next turn gets a new process
    if (event.type === "failed" && event.error.code === "not_signed_in" && turn.process) turn.process.isStale = true;
  };
  try {
    for await (const batch of body()) {
      hasId = true;
      const last = batch.find(isTerminal);
      if (last !== undefined) end(last);
      yield batch;
    }
  } catch (error) {
    if (signal.aborted) return;
    const failed = { type: "failed", error: agentError(error, parts).toRecord() } as const;
    end(failed);
    yield [failed];
  } finally {
    await turn.close(hasId, ended);
  }
}

/** The prompt of a begun turn where a process of ours still has its session: running, ended, or sent now for the first time. */
async function openHere(
  turn: AcpTurn,
  { sessionId, fromStep, answered, goesOn }: TurnPrompt,
): Promise<RunningPrompt | undefined> {
  const { parts, prompt } = turn;
  const lease = await reach(turn, sessionId, parts.silenceMs); // its answer may be whole there already: only silence ends the turn
  if (lease === "busy") throw turnFailure(unreachableMessage);
  if (lease === undefined) await parts.hosts?.othersOver(turn.signal, turn.options.onAlive); // then the stored session is read
  const session = lease?.process.sessions.get(sessionId);
  const { lost } = session?.state ?? {};
  const isSent = session?.prompt !== undefined && (goesOn === true || session.userMessages === fromStep + 1);
  const isUnsent = goesOn !== true && session?.userMessages === fromStep && !answered;
  if (lease === undefined || session === undefined || !(lost !== undefined || isSent || isUnsent)) {
    lease?.release();
    return undefined;
  }
  turn.use(lease);
  if (!session.step({ type: "resumed" })) throw turnFailure(busyMessage);
  turn.session = session;
  if (lost !== undefined) {
    session.cancel();
    throw turnFailure(lostMessages[lost], { hint: lostHints[lost] });
  }
  if (prompt.native !== undefined) session.tools?.offer(prompt.native.tools);
  if (isUnsent) return send(turn, session, promptBlocks(session, prompt));
  if (goesOn === true) session.answer(prompt.native?.results ?? []);
  return session.prompt;
}

/** The only place that sends a prompt. */
function send({ parts, prompt }: AcpTurn, session: Session, blocks: readonly object[]): RunningPrompt {
  session.rules = rulesOf(prompt);
  parts.onPrompt();
  return session.send(blocks);
}

/** Follows a prompt to the end of its turn. When the process dies on the way, the stored session decides what happens next. */
async function* follow(turn: AcpTurn, begun: TurnPrompt, running: RunningPrompt): AsyncGenerator<Batch, void> {
  const { parts, prompt, options, session, process } = turn;
  options.onEndsWithGateway?.(process?.child.host === undefined);
  const { end, sent } = yield* drain(turn, begun.sent, running);
  const isAccepted = session?.state.isAccepted === true;
  if (process !== undefined && (end.type === "parked" || end.type === "answered")) parts.pool.worked(process.launch);
  if (end.type === "parked") {
    yield park(turn, end.calls, running);
    return;
  }
  if (end.type === "refused" && prompt.instead !== undefined && !isAccepted && isUnknownSession(end.error)) {
    yield* askAnew(turn, begun); // the agent gave up the session since the last turn, so it has not taken the prompt
    return;
  }
  if (end.type !== "died") {
    yield* conclusion(turn, end, running);
    return;
  }
  if (begun.deaths > 0) throw turnFailure(diedTwiceMessage(end.how));
  const answered = begun.answered || isAccepted;
  const { tokens } = running.reader;
  yield* recover(turn, { ...begun, sent, answered, deaths: begun.deaths + 1, tokens }, end.how);
}

/** Decides by the stored session: finishes, fails by name, or sends a prompt that was certainly never accepted. */
async function* recover(turn: AcpTurn, begun: TurnPrompt, how?: string): AsyncGenerator<Batch, void> {
  const { prompt, signal } = turn;
  if (begun.goesOn === true && begun.answered) throw turnFailure(cutMessage(how));
  const found = begun.goesOn === true ? undefined : await twiceIfKilled(() => findStoredTurn(turn, begun));
  if (found === undefined || (found.type === "absent" && prompt.native !== undefined)) {
    yield* askAnew(turn, begun);
    return;
  }
  if (found.type === "absent") {
    const { session } = found;
    const running = send(turn, session, promptBlocks(session, prompt));
    yield* follow(turn, { ...begun, sessionId: session.id }, running);
    return;
  }
  const { reader } = found.turn;
  const isWhole = found.type === "whole";
  const { events } = answerDiff(begun.sent, reader.answer, isWhole);
  if (events.length > 0) yield events;
  signal.throwIfAborted();
  if (!isWhole) throw turnFailure(cutMessage(how));
  const tokens = reader.tokens ?? begun.tokens;
  yield* conclusion(turn, { type: "answered", stopReason: "end_turn", tokens }, { reader });
}

/** The whole history as one more prompt, in a new session, which takes the place of the turn's session. Tools go the way that they went. */
async function* askAnew(turn: AcpTurn, begun: TurnPrompt): AsyncGenerator<Batch, void> {
  const { parts, signal } = turn;
  const whole = turn.prompt.instead ?? turn.prompt;
  if (whole.continues !== undefined) throw turnFailure(goneMessage);
  const isNative = turn.prompt.native !== undefined;
  const isDiscarded = await turn.discard();
  turn.ask(whole, isNative);
  await begin(turn);
  const { session } = turn;
  if (session === undefined || (isNative && session.tools === undefined)) throw turnFailure(goneMessage);
  turn.replaced = begun.sessionId;
  const { goesOn, ...place } = begun;
  const before = goesOn === true ? 0 : begun.fromStep; // the log of a turn that goes on with a prompt has no number
  session.userMessages = before;
  await parts.moved.moved(begun.sessionId, session.id, before);
  if (!isDiscarded) await bestEffort(turn.process?.deleteStored(begun.sessionId, signal) ?? Promise.resolve()); // its own process is gone
  const running = send(turn, session, promptBlocks(session, turn.prompt));
  yield* follow(turn, { ...place, sessionId: session.id, fromStep: before, before }, running);
}

/** The end of a turn whose agent called tools: the prompt waits for their results. */
function park({ prompt, session }: AcpTurn, calls: readonly RelayedCall[], running: RunningPrompt): Batch {
  const handed = prompt.native?.parallel === false ? calls.slice(0, 1) : calls;
  const { answer, tokens, looked } = running.reader;
  session?.give(handed);
  const events = handed.map(
    ({ callId, name, arguments: args }): TurnEventBody => ({
      type: "tool_call",
      callId,
      name,
      argumentsDelta: writeJson(args),
      done: true,
    }),
  );
  const usage = tokens === undefined ? estimatedUsage(prompt, answer) : usageEvent(tokens);
  const ideTools = looked.length === 0 ? {} : { ideTools: looked };
  const reason = { unified: "tool_calls", raw: parkedReason } as const;
  return [...events, usage, { type: "finished", reason, text: answer.text, ...ideTools }];
}

/** Usage and the terminal event. The session is discarded after that: until the end is stored it is the only evidence. */
async function* conclusion(
  turn: AcpTurn,
  end: Exclude<PromptEnd, { readonly type: "died" }>,
  { reader }: Pick<RunningPrompt, "reader">,
): AsyncGenerator<Batch, void> {
  const { parts, prompt, session, process } = turn;
  await session?.stop(); // until then a tool that was begun may still come to its end
  const last = conclude(end, reader, parts);
  const isUnusable = session?.tools !== undefined && ignoresTools(reader, session.tools.isUsed, parts.spec);
  if (isUnusable && process !== undefined) process.knowledge.noteWithout(process.abilities.program);
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

const lostMessages: Readonly<Record<LinesLost, string>> = {
  disk_full:
    "The disk was full while this answer came, so a part of it could not be kept for this gateway. The part that arrived was kept, and the " +
    "prompt was not sent again.",
  too_many:
    "This answer was too long to be kept for this gateway. The part that arrived was kept, and the prompt was not sent again.",
};
const lostHints: Readonly<Record<LinesLost, string>> = {
  disk_full: "Free disk space, then send the request again. If it had an idempotency key, use a new one.",
  too_many: "Send the request again. If it had an idempotency key, use a new one.",
};
export const unreachableMessage =
  "The agent that answers this turn runs, and could not be reached. The part that arrived was kept, and the prompt was not sent again.";
const noSessionMessage =
  "The gateway stopped while this turn ran, and no session of the agent was noted for it. The prompt was not sent again.";
const discardedMessage =
  "The session of this turn was deleted before the end of the answer was stored. The part that arrived was kept, and the prompt was not sent again.";
