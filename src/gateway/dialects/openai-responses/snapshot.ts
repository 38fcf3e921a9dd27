import { type JsonObject, writeJson } from "../../../base/json.ts";
import type { WireEvent } from "../dialect.ts";

/**
 * The response at one event of its stream, with items and text. A client that starts there ends with the same response as a client
 * that saw every event. Source: docs/dev/wire/clients.md, "Responses".
 */
export class ResponseSnapshot {
  readonly #at: number;
  #response: JsonObject | undefined;

  /** `at`: the `sequence_number` of the event. */
  constructor(at: number) {
    this.#at = at;
  }

  /** Takes the wire events of one log event, in order. Returns the place of the searched event once it is among them. */
  take(events: readonly WireEvent[]): number | undefined {
    for (const [part, { json }] of events.entries()) {
      if (json === undefined) continue;
      this.#response = accumulate(this.#response, json);
      if (json["sequence_number"] === this.#at) return part;
    }
    return undefined;
  }

  /** `response.created` with the event's own number and the response as it stood there. */
  event(): WireEvent {
    const data = { type: "response.created", sequence_number: this.#at, response: this.#response };
    return { name: data.type, data: writeJson(data) };
  }
}

/** The response that a client holds after one more event, by the API's own rules. */
export function accumulate(response: JsonObject | undefined, event: JsonObject): JsonObject {
  if (typeof event.response === "object" && event.response !== null) return event.response as JsonObject; // lifecycle events hold it whole
  if (event.type === "error") return { ...response }; // `response.failed` follows
  const output = [...((response?.output ?? []) as JsonObject[])]; // a list of items, as responseObject makes it
  const index = Number(event.output_index);
  output[index] = accumulateItem(output[index] ?? {}, event);
  return { ...response, status: "in_progress", output };
}

function accumulateItem(item: JsonObject, event: JsonObject): JsonObject {
  const delta = String(event.delta);
  switch (event.type) {
    case "response.output_item.added":
    case "response.output_item.done":
      return event.item as JsonObject; // the member that these two events have
    case "response.content_part.added":
    case "response.content_part.done":
      return { ...item, content: [event.part] };
    case "response.output_text.delta":
      return { ...item, content: [grown(item.content, delta)] };
    case "response.reasoning_summary_part.added":
    case "response.reasoning_summary_part.done":
      return { ...item, summary: [event.part] };
    case "response.reasoning_summary_text.delta":
      return { ...item, summary: [grown(item.summary, delta)] };
    case "response.function_call_arguments.delta":
      return { ...item, arguments: String(item.arguments) + delta };
    case "response.custom_tool_call_input.delta":
      return { ...item, input: String(item.input) + delta };
    default:
      return item; // the `done` of a text repeats what the deltas said
  }
}

function grown(parts: unknown, delta: string): JsonObject {
  const [part] = parts as { text: string }[]; // the part was added, with its text, before it grows
  return { ...part, text: (part?.text ?? "") + delta };
}
