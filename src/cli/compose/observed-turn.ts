import type { ErrorCode } from "../../base/errors.ts";
import type { ObservedEvent } from "../../client/stream/observe.ts";
import type { EndEvent } from "../../client/stream/stream-event.ts";
import type { ShownEvent } from "../terminal/shown-turn.ts";

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
