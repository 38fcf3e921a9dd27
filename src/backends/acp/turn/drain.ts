import { bestEffort, notNeeded, orAborted, within } from "../../../base/async.ts";
import type { AnswerSoFar } from "../../answer-diff.ts";
import type { Batch } from "../../backend.ts";
import type { RelayedCall } from "../relay/relay-wire.ts";
import type { PromptEnd, RunningPrompt } from "../session/running-prompt.ts";
import type { Session } from "../session/session.ts";
import type { AcpTurn } from "./acp-turn.ts";
import { endsHere } from "./conclusion.ts";

/** How long an agent may write more of an answer after it said that the answer is complete; longer where it wrote nothing; ms. */
const lateMs = 250;
const lateAnswerMs = 2_000;

/** The agent waits for the results of these calls. */
interface ParkEnd {
  readonly type: "parked";
  readonly calls: readonly RelayedCall[];
}

/** Passes on the agent's updates, one batch for each read of its pipe, until the prompt has ended or must be stopped. */
export async function* drain(
  turn: AcpTurn,
  before: AnswerSoFar,
  running: RunningPrompt,
): AsyncGenerator<Batch, { readonly end: PromptEnd | ParkEnd; readonly sent: AnswerSoFar }> {
  const { parts, signal } = turn;
  const { onAlive } = turn.options;
  const watching = watchSilence(running, turn);
  let { text, thinking } = before;
  let heard = running.heard;
  try {
    for (;;) {
      signal.throwIfAborted();
      if (running.heard !== heard) onAlive();
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
      const isOurs = endsHere(running.reader, parts.spec);
      const end = isOurs ? stoppedByUs : running.end;
      const { session } = turn;
      if (end === undefined && session !== undefined && session.fresh.length > 0) {
        await orAborted(session.process.child.caughtUp(), signal); // the text before a call belongs before it
        if (running.hasNews) continue;
        if (await areAll(running, session, turn))
          return { end: { type: "parked", calls: session.fresh }, sent: { text, thinking } };
      } else if (end === undefined) await running.news.wait(signal);
      else if (isOurs || end.type !== "answered" || (await isQuiet(running, turn)))
        return { end, sent: { text, thinking } };
    }
  } finally {
    watching.abort();
  }
}

/** How long a further call is waited for: where all announced ones are there, where none was announced, and where one is missing; ms. */
const allHereMs = 4; // an announcement takes the longer way, through the host
const callsMs = 8;
const announcedMs = 250;

/** Whether the calls that came are all that the agent makes at once. */
async function areAll(running: RunningPrompt, session: Session, turn: AcpTurn): Promise<boolean> {
  const { heard } = running;
  const calls = session.fresh.length;
  const { announced } = running.reader;
  const isShort = session.tools?.isTogether === true && announced > calls;
  await quiet(running, isShort ? announcedMs : announced >= calls ? allHereMs : callsMs, turn);
  if (running.heard !== heard || session.fresh.length !== calls) return false;
  if (isShort && session.tools !== undefined) session.tools.isTogether = false;
  return calls > 0;
}

/**
 * Whether the agent writes nothing more after its reply. Some agents send the last parts of an answer after it. Devin tells that it
 * stopped before it replies, so there is nothing to wait for.
 */
async function isQuiet(running: RunningPrompt, turn: AcpTurn): Promise<boolean> {
  if (running.reader.stopped !== undefined) return true;
  const { heard, reader } = running;
  await quiet(running, reader.answer.text === "" ? lateAnswerMs : lateMs, turn);
  if (running.heard !== heard || turn.process === undefined) return running.heard === heard;
  await within(turn.process.child.caughtUp(), lateAnswerMs, turn.parts.clock); // on a busy machine the time may pass before what came is read
  return running.heard === heard && !running.hasNews;
}

/** Waits for news of the prompt, for so long at most. Rejects with the signal's reason: a stop is no sign that an answer is whole. */
async function quiet(running: RunningPrompt, ms: number, { parts, signal }: AcpTurn): Promise<void> {
  const enough = new AbortController();
  const news = bestEffort(running.news.wait(AbortSignal.any([signal, enough.signal])));
  await within(news, ms, parts.clock);
  enough.abort(notNeeded);
  signal.throwIfAborted();
}

/** The end that the agent would report for a turn that a tool step ends; the reader adds the step's name. */
const stoppedByUs: PromptEnd = { type: "answered", stopReason: "cancelled", tokens: undefined };

const lookMs = 5_000;
/** An agent that writes a part of a line writes its rest at once, so it is stuck long before it is silent. */
const halfLineMs = 30_000;

/**
 * Reports every 5 s that the agent's process is alive, and ends a prompt that was silent for `silenceMs`, or for 30 s in the middle of
 * a line. Runs until the returned controller aborts. It runs beside the answer, so that no delta waits for a timer.
 */
function watchSilence(running: RunningPrompt, turn: AcpTurn): AbortController {
  const { clock, silenceMs } = turn.parts;
  const stop = new AbortController();
  const watch = async () => {
    let heard = running.heard;
    let sinceMs = clock.monotonic();
    while (running.end === undefined) {
      await clock.sleep(Math.min(lookMs, silenceMs), stop.signal);
      if (running.heard !== heard) {
        ({ heard } = running);
        sinceMs = clock.monotonic();
      } else {
        const inLine = turn.process?.peer.isMidLine === true;
        if (clock.monotonic() - sinceMs >= (inLine ? Math.min(halfLineMs, silenceMs) : silenceMs)) {
          running.finish({ type: "silent", inLine });
          return;
        }
      }
      turn.options.onAlive();
    }
  };
  void bestEffort(watch()); // an abort ends it
  return stop;
}
