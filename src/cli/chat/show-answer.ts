import { bestEffort } from "../../base/async.ts";
import { MillraceError } from "../../base/errors.ts";
import { isTerminal, type TurnEvent } from "../../log/event.ts";
import type { CommandContext } from "../command.ts";
import type { Output } from "../terminal/output.ts";
import type { ChatTurn } from "./chat-turn.ts";

interface ShowOptions {
  readonly thinking: boolean;
  readonly json: boolean;
}

/** Signals by which no person asks for an end of the answer: the terminal was closed, or the system shuts down. */
const endsByItself: ReadonlySet<unknown> = new Set(["SIGHUP", "SIGTERM"]);

/** The longest wait for the end of a cancelled answer, ms. */
const farewellMs = 3000;

/**
 * Shows an answer as it comes: text on stdout, thinking on stderr. The command's signal cancels the answer at the gateway; the result
 * is then `cancelled`. Where the system ends the command, as with a closed terminal, the answer goes on, and the result is `left`. `leave`
 * ends the reading. Throws the failure of the answer, and the errors of reading it.
 */
export async function showAnswer(
  turn: ChatTurn,
  leave: AbortController,
  options: ShowOptions,
  { io, out, signal }: CommandContext,
) {
  let isLeft = false;
  const onInterrupt = () => {
    isLeft = endsByItself.has((signal.reason as { readonly by?: unknown } | undefined)?.by);
    if (isLeft) return leave.abort();
    const isAsked = turn.id() !== undefined;
    void bestEffort(turn.cancel(leave.signal)).then(() => isAsked || leave.abort()); // else its last event ends the reading
    void bestEffort(io.clock.sleep(farewellMs, leave.signal)).then(() => leave.abort());
  };
  if (signal.aborted) onInterrupt();
  else signal.addEventListener("abort", onInterrupt, { once: true });
  const shown = answerPrinter(options, out);
  const pauses = explainPauses({ io, out });
  let end: Extract<TurnEvent, { readonly type: "finished" | "failed" | "cancelled" }> | undefined;
  try {
    for await (const event of turn.events()) {
      if (shown.add(event)) pauses.shown();
      if (isTerminal(event)) end = event; // the loop goes on: the gateway learns that the answer was taken whole
    }
  } catch (error) {
    out.endLine();
    if (!signal.aborted) throw error;
  } finally {
    pauses.stop();
    signal.removeEventListener("abort", onInterrupt);
    leave.abort();
  }
  out.endLine();
  if (end?.type === "finished") return { ...shown.texts(), reason: end.reason };
  if (isLeft) return "left" as const;
  if (signal.aborted || end === undefined) return "cancelled" as const;
  if (end.type === "failed") throw MillraceError.fromRecord(end.error);
  throw new MillraceError("cancelled", `The answer was cancelled (${end.by}).`);
}

/** Shows the events of an answer as they come; `add` answers whether something was shown. */
function answerPrinter({ thinking: showsThinking, json }: ShowOptions, out: Output) {
  let answer = "";
  let thinking = "";
  const show = (delta: string): boolean => {
    if (json || delta === "") return false;
    if (answer === "" && thinking !== "" && showsThinking) out.talk("\n\n");
    out.write(delta);
    return true;
  };
  return {
    texts: () => ({ answer, thinking }),
    add(event: TurnEvent): boolean {
      if (event.type === "thinking") {
        thinking += event.delta;
        if (!showsThinking || json) return false;
        out.talk(event.delta);
        return true;
      }
      if (event.type === "text") {
        const isShown = show(event.delta);
        answer += event.delta;
        return isShown;
      }
      if (event.type === "rewritten") {
        const isMore = event.text.startsWith(answer);
        if (!isMore && !json && event.moved !== true) out.note("[The model rewrote its answer:]");
        const isShown = event.moved !== true && show(isMore ? event.text.slice(answer.length) : event.text);
        answer = event.text;
        return isShown;
      }
      if (event.type === "finished") answer = event.text;
      return isTerminal(event);
    },
  };
}

/** How long an answer may pause before the terminal says why it can; ms. */
const pauseMs = 10_000;

/** Explains the first long pause: a user who does not know that the gateway waits asks again, and that costs a prompt. */
function explainPauses({ io, out }: Pick<CommandContext, "io" | "out">) {
  const stopped = new AbortController();
  let shown = 0;
  const explain = async () => {
    for (let before = -1; before !== shown; ) {
      before = shown;
      await io.clock.sleep(pauseMs, stopped.signal);
    }
    out.note(
      "[No text for 10 s. The model may be thinking, and the gateway waits for it. Asking again would cost another prompt.]",
    );
  };
  if (io.stderr.isTTY === true) explain().catch(() => undefined); // it was stopped
  return {
    /** Something of the answer was shown. */
    shown: () => void shown++,
    stop: () => stopped.abort(),
  };
}
