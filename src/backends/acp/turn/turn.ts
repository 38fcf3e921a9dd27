import { bestEffort } from "../../../base/async.ts";
import { writeJson } from "../../../base/json.ts";
import { quotable } from "../../../base/shown-text.ts";
import { isTerminal, type TurnEventBody } from "../../../log/event.ts";
import { answerDiff, emptyAnswer } from "../../answer-diff.ts";
import { type Batch, type Prompt, parkedReason, type ResumePoint, type RunOptions } from "../../backend.ts";
import { estimatedUsage } from "../../turn-usage.ts";
import type { LinesLost } from "../host/wire.ts";
import { agentError, isUnknownSession, turnFailure, twiceIfKilled } from "../process/errors.ts";
import type { RelayedCall } from "../relay/relay-wire.ts";
import { type AgentParts, blocksOf, errorContext, launchOf } from "../session/agent-parts.ts";
import type { AgentProcess } from "../session/agent-process.ts";
import { type AcpRun, HeldSession } from "../session/held-session.ts";
import { cascadeIdOf, type OpenSession, sessionIdOf } from "../session/open-session.ts";
import { rulesOf } from "../session/prompt-blocks.ts";
import type { PromptEnd, RunningPrompt } from "../session/running-prompt.ts";
import { usageEvent } from "../wire/token-counts.ts";
import { asNative, asProse, begin, beginNatively, goneMessage, reach, versionOf } from "./begin-turn.ts";
import { conclude, ignoresTools } from "./conclusion.ts";
import { drain } from "./drain.ts";
import { findStoredTurn, type SentPrompt, type SessionState } from "./stored-turn.ts";

/** One turn from its beginning: the contract of `Backend.run`. */
export function runTurn(
  parts: AgentParts,
  prompt: Prompt,
  options: RunOptions,
  signal: AbortSignal,
): AsyncGenerator<Batch, void> {
  const turn: AcpRun = { parts, prompt, options, signal, held: new HeldSession(parts) };
  return guarded(turn, async function* () {
    const { process, session, prompt: chosen, waiting, before } = await begin(turn);
    const { held } = turn;
    const asked = { ...turn, prompt: chosen };
    const blocks = waiting === undefined ? blocksOf(launchOf(parts, chosen).style, process, session, chosen) : [];
    const fromStep = session.userMessages;
    const cascadeId = prompt.continues ?? cascadeIdOf(parts.spec.name, session.id);
    const { modelUid } = prompt;
    const place = fromStep === 0 || waiting !== undefined ? {} : { fromStep };
    const tools = session.tools === undefined ? {} : ({ tools: "native" } as const);
    const goesOn = waiting === undefined ? {} : ({ goesOn: true } as const);
    const { ide } = parts.spec;
    held.named = true;
    yield [{ type: "started", modelUid, backend: "acp", cascadeId, ide, ...place, ...tools, ...goesOn }];
    signal.throwIfAborted();
    const begun = { sessionId: session.id, fromStep, before, sent: emptyAnswer, answered: false, deaths: 0, ...goesOn };
    await options.beforePrompt?.(signal);
    const results = chosen.native?.results ?? [];
    if (waiting === undefined) parts.kept.supersede(results.map(({ callId }) => callId));
    else session.tools?.answer(results);
    yield* follow(asked, begun, waiting ?? send(asked, process, session, blocks));
  });
}

/** A turn that another process began: the contract of `Backend.resume`. */
export function resumeTurn(
  parts: AgentParts,
  { prompt, from, options }: { readonly prompt: Prompt; readonly from: ResumePoint; readonly options: RunOptions },
  signal: AbortSignal,
): AsyncGenerator<Batch, void> {
  const { native } = prompt;
  const asked = from.tools === "native" && native !== undefined ? asNative(prompt, native) : asProse(prompt);
  const turn: AcpRun = { parts, prompt: asked, options, signal, held: new HeldSession(parts) };
  return guarded(turn, async function* () {
    const logged = sessionIdOf(parts.spec.name, from.cascadeId);
    if (logged === undefined) throw turnFailure(noSessionMessage);
    turn.held.named = true;
    const { id: sessionId, before, isDiscarded } = await parts.kept.last(logged);
    if (isDiscarded) throw turnFailure(discardedMessage);
    if (sessionId !== logged) turn.held.replaced = logged;
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
  });
}

/** Runs the body; errors become `failed`, an abort ends it without a word, and the session is cleaned up in any case. */
async function* guarded(turn: AcpRun, body: () => AsyncGenerator<Batch, void>): AsyncGenerator<Batch, void> {
  const { held, options, signal, parts } = turn;
  if (signal.aborted) return;
  try {
    for await (const batch of body()) {
      const end = batch.find(isTerminal);
      if (end !== undefined) {
        held.ended = end.type === "finished" ? "finished" : "otherwise";
        held.told = true;
        if (end.type === "failed") renewIfSignedOut(turn, end.error.code);
      }
      yield batch;
    }
  } catch (error) {
    if (signal.aborted) return;
    held.ended = "otherwise";
    const failure = agentError(error, errorContext(parts));
    renewIfSignedOut(turn, failure.code);
    yield [{ type: "failed", error: failure.toRecord() }];
  } finally {
    await held.close({ ...options, keep: options.keep && held.told }, signal);
  }
}

/** A process and its sessions never learn of a sign-in that came after their start, so the next turn gets a new process. */
function renewIfSignedOut({ held: { process } }: AcpRun, code: string): void {
  if (process !== undefined && code === "not_signed_in") process.isStale = true;
}

/** The prompt of a begun turn where a process of ours still has its session: running, ended, or sent now for the first time. */
async function openHere(
  turn: AcpRun,
  { sessionId, fromStep, answered, goesOn }: SentPrompt,
): Promise<RunningPrompt | undefined> {
  const { parts, prompt, held } = turn;
  const lease = await reach(turn, sessionId, parts.silenceMs); // its answer may be whole there already: only silence ends the turn
  if (lease === "busy") throw turnFailure(unreachableMessage);
  if (lease === undefined) await parts.hosts?.othersOver(turn.signal, turn.options.onAlive); // then the stored session is read
  const session = lease?.process.sessions.get(sessionId);
  if (lease === undefined || session === undefined) {
    lease?.release();
    return undefined;
  }
  const lost = lease.process.lostIn(sessionId);
  if (lost !== undefined) {
    held.hold(lease, session);
    lease.process.cancel(sessionId);
    throw turnFailure(lostMessages[lost], { hint: lostHints[lost] });
  }
  if (prompt.native !== undefined) session.tools?.offer(prompt.native.tools);
  if (goesOn === true) {
    held.hold(lease, session);
    parts.kept.goOn(sessionId);
    if (session.last === undefined || session.tools === undefined) return undefined;
    session.tools.answer(prompt.native?.results ?? []);
    return session.last;
  }
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
function send({ parts, prompt }: AcpRun, process: AgentProcess, session: OpenSession, blocks: object[]): RunningPrompt {
  session.told = rulesOf(prompt);
  parts.onPrompt();
  return process.prompt(session, blocks);
}

/** Follows a prompt to the end of its turn. When the process dies on the way, the stored session decides what happens next. */
async function* follow(turn: AcpRun, begun: SentPrompt, running: RunningPrompt): AsyncGenerator<Batch, void> {
  const { parts, prompt, options, held } = turn;
  options.onEndsWithGateway?.(held.process?.child.host === undefined);
  const { end, sent } = yield* drain(turn, begun.sent, running);
  if (end.type === "parked") {
    parts.pool.worked(launchOf(parts, prompt).key);
    yield park(turn, end.calls, running);
    return;
  }
  if (end.type === "refused" && prompt.instead !== undefined && !running.isAccepted && isUnknownSession(end.error)) {
    yield* askAnew(turn, begun); // the agent gave up the session since the last turn, so it has not taken the prompt
    return;
  }
  if (end.type !== "died") {
    if (end.type === "answered") parts.pool.worked(launchOf(parts, prompt).key);
    yield* conclusion(turn, end, running);
    return;
  }
  if (begun.deaths > 0) throw turnFailure(diedTwiceMessage(end.how));
  yield* recover(
    turn,
    {
      ...begun,
      sent,
      answered: begun.answered || running.isAccepted,
      deaths: begun.deaths + 1,
      told: running.reader.tokens,
    },
    end.how,
  );
}

/** Decides by the stored session: finishes, fails by name, or sends a prompt that was certainly never accepted. */
async function* recover(turn: AcpRun, begun: SentPrompt, how?: string): AsyncGenerator<Batch, void> {
  const { parts, prompt, options, signal } = turn;
  if (begun.goesOn === true) {
    if (begun.answered) throw turnFailure(cutMessage(how));
    yield* askAnew(turn, begun);
    return;
  }
  const found = await twiceIfKilled(() => findStoredTurn(turn, begun));
  if (found.type === "absent" && prompt.native !== undefined) {
    yield* askAnew(turn, begun);
    return;
  }
  if (found.type === "absent") {
    const { process, session } = found;
    const { style } = launchOf(parts, prompt);
    await options.beforePrompt?.(signal);
    const running = send(turn, process, session, blocksOf(style, process, session, prompt));
    yield* follow(turn, { ...begun, sessionId: session.id }, running);
    return;
  }
  yield* fromReplay(turn, begun, found, how);
}

/** The whole history as one more prompt, in a new session, which takes the place of the turn's session. Tools go the way that they went. */
async function* askAnew(turn: AcpRun, begun: SentPrompt): AsyncGenerator<Batch, void> {
  const { parts, held, options, signal } = turn;
  const whole = turn.prompt.instead ?? turn.prompt;
  if (whole.continues !== undefined) throw turnFailure(goneMessage);
  const isDiscarded = await held.discard();
  const fresh = { ...turn, prompt: turn.prompt.native === undefined ? asProse(whole) : whole };
  const { native } = fresh.prompt;
  const again = native === undefined ? await begin(fresh) : await beginNatively(fresh, native);
  if (again === undefined) throw turnFailure(goneMessage);
  const { process, session, prompt } = again;
  held.replaced = begun.sessionId;
  const { goesOn, ...place } = begun;
  const before = goesOn === true ? 0 : begun.fromStep; // the log of a turn that goes on with a prompt has no number
  session.userMessages = before;
  await parts.kept.moved(begun.sessionId, session.id, before);
  if (!isDiscarded) await bestEffort(parts.kept.discard(process, begun.sessionId)); // its own process is gone
  await options.beforePrompt?.(signal);
  const asked = { ...turn, prompt };
  const blocks = blocksOf(launchOf(parts, prompt).style, process, session, prompt);
  yield* follow(
    asked,
    { ...place, sessionId: session.id, fromStep: before, before },
    send(asked, process, session, blocks),
  );
}

/** The end of a turn whose agent called tools: the prompt waits for their results. */
function park({ parts, prompt, held }: AcpRun, calls: readonly RelayedCall[], running: RunningPrompt): Batch {
  const { process, session } = held;
  const handed = prompt.native?.parallel === false ? calls.slice(0, 1) : calls;
  const { answer, tokens, looked } = running.reader;
  running.begin();
  if (process !== undefined && session !== undefined) {
    session.tools?.give(handed, process.child.host?.read);
    if (session.tools !== undefined) parts.kept.park(process, session);
  }
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

async function* fromReplay(
  turn: AcpRun,
  { sent, told }: SentPrompt,
  { type, turn: { reader } }: Exclude<SessionState, { readonly type: "absent" }>,
  how: string | undefined,
): AsyncGenerator<Batch, void> {
  const isWhole = type === "whole";
  const { events } = answerDiff(sent, reader.answer, isWhole);
  if (events.length > 0) yield events;
  turn.signal.throwIfAborted();
  if (!isWhole) throw turnFailure(cutMessage(how));
  yield* conclusion(turn, { type: "answered", stopReason: "end_turn", tokens: reader.tokens ?? told }, { reader });
}

/** Usage and the terminal event. The session is discarded after that: until the end is stored it is the only evidence. */
async function* conclusion(
  turn: AcpRun,
  end: Exclude<PromptEnd, { readonly type: "died" }>,
  { reader }: Pick<RunningPrompt, "reader">,
): AsyncGenerator<Batch, void> {
  const { parts, prompt, held } = turn;
  await held.stop(); // until then a tool that was begun may still come to its end
  const context = errorContext(parts);
  const last = conclude(end, reader, context);
  const notices = [...reader.notices].map((notice) => quotable(notice));
  if (notices.length > 0) parts.events?.emit("agent_noted", { agent: parts.spec.name, notices });
  const tools = held.session?.tools;
  const isUnusable = tools !== undefined && ignoresTools(reader, tools.isUsed, context);
  if (isUnusable && held.process !== undefined)
    await bestEffort(parts.knowledge.note(versionOf(parts, held.process), false));
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
