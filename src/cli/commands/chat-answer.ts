import { type ErrorCode, MillraceError } from "../../base/errors.ts";
import type { ConnectionChange, ReliableStream } from "../../client/stream/reliable-stream.ts";
import type { EndEvent, StreamEvent } from "../../client/stream/stream-event.ts";
import type { CommandContext } from "../command.ts";
import type { Output } from "../terminal/output.ts";

/** An answer that is over. */
export interface ChatAnswer {
  readonly answer: string;
  readonly thinking: string;
  readonly reason: string;
}

export interface ShowOptions {
  readonly thinking: boolean;
  readonly json: boolean;
}

/** How long a cancelled answer may take to say so, ms. */
const farewellMs = 3000;

/**
 * Shows an answer as it comes: text on stdout, thinking on stderr. The command's signal cancels the answer at the gateway;
 * `cancelled` is answered then. `leave` disconnects the stream. Throws the failure of the answer, and what the stream throws.
 */
export async function showAnswer(
  stream: ReliableStream,
  leave: AbortController,
  options: ShowOptions,
  { io, out, signal }: CommandContext,
): Promise<ChatAnswer | "cancelled"> {
  const onInterrupt = () => {
    stream.cancel().catch(() => leave.abort()); // what cannot be told in time is stored, and told when the stream is resumed
    io.clock.sleep(farewellMs, leave.signal).then(
      () => leave.abort(),
      () => undefined, // it was told
    );
  };
  if (signal.aborted) onInterrupt();
  else signal.addEventListener("abort", onInterrupt, { once: true });
  const shown = new ShownAnswer(options, out);
  let end: EndEvent | undefined;
  try {
    for await (const event of stream.events) {
      shown.add(event);
      if (event.type === "end") end = event; // the loop goes on: what was left of the stream is cleared away after it
    }
  } catch (error) {
    out.endLine();
    if (!signal.aborted) throw error;
  } finally {
    signal.removeEventListener("abort", onInterrupt);
    leave.abort();
  }
  out.endLine();
  if (end?.outcome === "finished") return { ...shown.texts, reason: end.reason };
  if (signal.aborted || end === undefined) return "cancelled";
  throw failureOf(end);
}

/** What a connection's ups and downs look like on stderr: a short interruption is passed over. */
export function tellConnection(out: Output): (change: ConnectionChange) => void {
  let isAway = false;
  return (change) => {
    if (change.state === "reconnecting") {
      if (change.why !== undefined) {
        out.note(`${change.why} Trying again in ${Math.ceil(change.waitMs / 1000)} s.`);
      } else if (change.fruitless === 2 && !isAway) {
        isAway = true;
        out.note("The gateway does not answer; trying again. What has arrived stays, and the rest will follow.");
      }
      return;
    }
    if (isAway) out.note("The gateway is back.");
    isAway = false;
    if (change.degraded)
      out.note("The gateway cannot store anything now: if the connection is lost, so is this answer.");
  };
}

class ShownAnswer {
  readonly #options: ShowOptions;
  readonly #out: Output;
  #answer = "";
  #thinking = "";

  constructor(options: ShowOptions, out: Output) {
    this.#options = options;
    this.#out = out;
  }

  get texts(): { readonly answer: string; readonly thinking: string } {
    return { answer: this.#answer, thinking: this.#thinking };
  }

  add(event: StreamEvent): void {
    if (event.type === "thinking") {
      this.#thinking += event.delta;
      if (this.#options.thinking && !this.#options.json) this.#out.talk(event.delta);
    }
    if (event.type === "text" || event.type === "rewritten") {
      this.#show(event.delta);
      this.#answer = event.type === "rewritten" ? event.text : this.#answer + event.delta;
    }
    if (event.type === "end") this.#answer = event.text ?? this.#answer;
  }

  #show(delta: string): void {
    if (this.#options.json || delta === "") return;
    if (this.#answer === "" && this.#thinking !== "" && this.#options.thinking) this.#out.talk("\n\n");
    this.#out.write(delta);
  }
}

function failureOf({ outcome, reason, errorCode, errorMessage, errorHint }: EndEvent): MillraceError {
  if (outcome === "cancelled") return new MillraceError("cancelled", `The answer was cancelled (${reason}).`);
  // The gateway's own code; one from a newer gateway only loses its exit code.
  const code = (errorCode ?? "upstream_failed") as ErrorCode;
  return new MillraceError(
    code,
    errorMessage ?? "The answer failed.",
    errorHint === undefined ? {} : { hint: errorHint },
  );
}
