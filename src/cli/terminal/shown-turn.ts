import type { ErrorCode } from "../../base/errors.ts";
import type { ObservedEvent } from "../../client/stream/observe.ts";
import type { EndEvent } from "../../client/stream/stream-event.ts";
import type { TurnEventBody } from "../../log/event.ts";
import type { Output } from "./output.ts";

/** The parts of a turn's event that are shown. The gateway's own events have them. */
export type ShownEvent = { readonly eventId: string } & (
  | Extract<TurnEventBody, { readonly type: "text" | "thinking" | "rewritten" | "tool_call" | "failed" }>
  | { readonly type: "started" | "usage" | "finished" }
  | { readonly type: "cancelled"; readonly by: string }
);

/** A turn's events as a person reads them: the answer on stdout, everything else on stderr. */
export class ShownTurn {
  readonly #out: Output;
  #arguments = "";
  #isThinking = false;

  constructor(out: Output) {
    this.#out = out;
  }

  add(event: ShownEvent): void {
    if (event.type === "text" && this.#isThinking) this.#out.talk("\n\n"); // the thought is over
    if (event.type === "text" || event.type === "thinking") this.#isThinking = event.type === "thinking";
    switch (event.type) {
      case "text":
        return this.#out.write(event.delta);
      case "thinking":
        return this.#out.talk(event.delta);
      case "rewritten":
        this.#out.note("[The model rewrote its answer:]");
        this.#out.endLine();
        return this.#out.write(event.text);
      case "tool_call":
        this.#arguments += event.argumentsDelta;
        if (!event.done) return;
        this.#out.note(`[calls ${event.name} ${this.#arguments}]`);
        this.#arguments = "";
        return;
      case "failed":
        return this.#out.note(`Failed: ${event.error.message} ${event.error.hint}`);
      case "cancelled":
        return this.#out.note(`Cancelled (${event.by}).`);
      case "started":
      case "usage":
      case "finished":
        return;
      default:
        event satisfies never;
    }
  }
}

/** An event of an observed stream in the form of a turn's events, without their times, which a stream does not have. */
export function toShownEvent(event: ObservedEvent): ShownEvent {
  switch (event.type) {
    case "started":
    case "text":
    case "thinking":
      return event;
    case "rewritten":
      return { type: "rewritten", text: event.text, eventId: event.eventId };
    case "tool_call": {
      const { callId, name, arguments: argumentsDelta, eventId } = event;
      return { type: "tool_call", callId, name, argumentsDelta, done: true, eventId };
    }
    case "end":
      return toShownEnd(event);
    default:
      return event satisfies never;
  }
}

function toShownEnd({ outcome, reason, errorCode, errorMessage, errorHint, eventId }: EndEvent): ShownEvent {
  switch (outcome) {
    case "finished":
      return { type: "finished", eventId };
    case "cancelled":
      return { type: "cancelled", by: reason, eventId };
    case "failed":
      return {
        type: "failed",
        error: {
          code: (errorCode ?? "upstream_failed") as ErrorCode, // the gateway's own; a code from a newer gateway is shown unchanged
          message: errorMessage ?? "The answer failed.",
          hint: errorHint ?? "",
        },
        eventId,
      };
    default:
      return outcome satisfies never;
  }
}
