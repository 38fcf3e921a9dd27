import { type ErrorCode, MillraceError } from "../../base/errors.ts";
import { spentStreamForPeople } from "../../base/spent-stream.ts";
import type { ReliableStream } from "../../client/stream/stream.ts";
import type { EndEvent, StreamEvent } from "../../client/stream/stream-event.ts";
import type { ConnectionChange } from "../../client/stream/stream-options.ts";
import type { CommandContext } from "../command.ts";
import type { Output } from "../terminal/output.ts";

/** The stream to show: one of the protocol, or something with the same events. */
export type ShownStream = Pick<ReliableStream, "events" | "cancel">;

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
 * is then `cancelled`. Where the system ends the command, as with a closed terminal, the answer goes on, and the result is `left`. `leave` disconnects the stream. Throws the failure of the answer, and the stream's errors.
 */
export async function showAnswer(
  stream: ShownStream,
  leave: AbortController,
  options: ShowOptions,
  { io, out, signal }: CommandContext,
) {
  let isLeft = false;
  const onInterrupt = () => {
    isLeft = endsByItself.has((signal.reason as { readonly by?: unknown } | undefined)?.by);
    if (isLeft) return leave.abort();
    stream.cancel().catch(() => leave.abort()); // a cancel that is not sent in time is stored, and sent when the stream is resumed
    io.clock.sleep(farewellMs, leave.signal).then(
      () => leave.abort(),
      () => undefined, // the cancel was sent in time
    );
  };
  if (signal.aborted) onInterrupt();
  else signal.addEventListener("abort", onInterrupt, { once: true });
  const shown = answerPrinter(options, out);
  const pauses = explainPauses({ io, out });
  let end: EndEvent | undefined;
  try {
    for await (const event of stream.events) {
      if (shown.add(event)) pauses.shown();
      if (event.type === "end") end = event; // the loop goes on: what was left of the stream is cleared away after it
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
  if (end?.outcome === "finished") {
    const { reason, promptTokens, completionTokens } = end;
    return { ...shown.texts(), reason, promptTokens, completionTokens };
  }
  if (isLeft) return "left" as const;
  if (signal.aborted || end === undefined) return "cancelled" as const;
  throw failureOf(end);
}

/** Reports losses and returns of the connection on stderr, except short interruptions. */
export function tellConnection(out: Output): (change: ConnectionChange) => void {
  let isAway = false;
  return (change) => {
    if (change.state === "reconnecting") {
      if (change.why !== undefined) {
        out.note(`${change.why} Trying again in ${Math.ceil(change.waitMs / 1000)} s.`);
      } else if (change.fruitless === 2 && !isAway) {
        isAway = true;
        out.note("The gateway does not answer. Trying again; the rest of the answer will follow.");
      }
      return;
    }
    if (isAway) out.note("The gateway is back.");
    isAway = false;
    if (change.degraded)
      out.note(
        change.why ?? "The gateway cannot write to its store. If the connection is lost, this answer is lost too.",
      );
  };
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
    add(event: StreamEvent): boolean {
      if (event.type === "thinking") {
        thinking += event.delta;
        if (!showsThinking || json) return false;
        out.talk(event.delta);
        return true;
      }
      if (event.type === "text" || event.type === "rewritten") {
        const isShown = show(event.delta);
        answer = event.type === "rewritten" ? event.text : answer + event.delta;
        return isShown;
      }
      if (event.type === "end") answer = event.text ?? answer;
      return event.type === "end";
    },
  };
}

function failureOf({ outcome, reason, errorCode, errorMessage, errorHint }: EndEvent): MillraceError {
  if (outcome === "cancelled") return new MillraceError("cancelled", `The answer was cancelled (${reason}).`);
  // The gateway's own code; one from a newer gateway only loses its exit code.
  const code = (errorCode ?? "upstream_failed") as ErrorCode;
  return new MillraceError(
    code,
    errorMessage ?? "The answer failed.",
    errorHint === undefined ? {} : { hint: spentStreamForPeople(errorHint, code) },
  );
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
