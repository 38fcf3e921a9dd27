import type { ErrorRecord } from "../../../base/errors.ts";
import type { TurnEvent } from "../../../log/event.ts";
import type { Encoder, WireEvent } from "../dialect.ts";

type Json = Record<string, unknown>;

/**
 * A response's events after a cursor. Where events are left out, the first thing sent is `response.created` with the
 * cursor's own number and the response as it stood there, items and text included: so an accumulator that starts here
 * ends with the same response as one that saw everything. Source: facts/idempotent-streams.md, B1 ("snapshot-plus-suffix").
 */
export class SuffixEncoder implements Encoder {
  readonly #inner: Encoder;
  readonly #after: number;
  #snapshot: Json | undefined;

  /** `after`: the `sequence_number` of the last event that the reader has. */
  constructor(inner: Encoder, after: number) {
    this.#inner = inner;
    this.#after = after;
  }

  open(): readonly WireEvent[] {
    return this.#rest(this.#inner.open());
  }

  encode(event: TurnEvent): readonly WireEvent[] {
    return this.#rest(this.#inner.encode(event));
  }

  heartbeat(): readonly WireEvent[] {
    return [...this.#flush(), ...this.#inner.heartbeat()];
  }

  broken(error: ErrorRecord): readonly WireEvent[] {
    return this.#rest(this.#inner.broken(error));
  }

  #rest(events: readonly WireEvent[]): readonly WireEvent[] {
    return events.flatMap((event) => {
      if (!event.data.startsWith("{")) return [event];
      const data = JSON.parse(event.data) as Json; // the inner encoder wrote it
      if (Number(data.sequence_number) > this.#after) return [...this.#flush(), event];
      this.#snapshot = accumulate(this.#snapshot, data);
      return [];
    });
  }

  #flush(): readonly WireEvent[] {
    const response = this.#snapshot;
    if (response === undefined) return [];
    this.#snapshot = undefined;
    const data = { type: "response.created", sequence_number: this.#after, response };
    return [{ name: data.type, data: JSON.stringify(data) }];
  }
}

/** What a client knows of a response after one more event, by the API's own rules. */
export function accumulate(response: Json | undefined, event: Json): Json {
  if (typeof event.response === "object" && event.response !== null) return event.response as Json; // lifecycle events hold it whole
  const output = [...((response?.output ?? []) as Json[])]; // a list of items, as responseObject makes it
  const index = Number(event.output_index);
  output[index] = accumulateItem(output[index] ?? {}, event);
  return { ...response, status: "in_progress", output };
}

function accumulateItem(item: Json, event: Json): Json {
  const delta = String(event.delta);
  switch (event.type) {
    case "response.output_item.added":
    case "response.output_item.done":
      return event.item as Json; // the member that these two events have
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

function grown(parts: unknown, delta: string): Json {
  const [part] = parts as { text: string }[]; // the part was added, with its text, before it grows
  return { ...part, text: (part?.text ?? "") + delta };
}
