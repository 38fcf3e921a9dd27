import type { TurnEvent } from "../../log/event.ts";
import type { TurnReader } from "../../turns/turns.ts";

/**
 * A reader of an answer whose beginning its client has: the thinking before and the kept text itself are left out. Where the answer's text
 * begins otherwise (the upstream rewrote it), the client gets all of it.
 */
export function afterKept(reader: TurnReader, kept: string): TurnReader {
  if (kept === "") return reader;
  let left = kept;
  let skipped = "";
  const next = (event: TurnEvent): readonly TurnEvent[] => {
    if (event.type === "thinking" && left !== "") return [];
    if (event.type === "text" && left !== "") {
      const { length } = event.delta;
      const known = event.delta.slice(0, left.length);
      if (!left.startsWith(known)) {
        left = "";
        return [{ ...event, delta: skipped + event.delta }];
      }
      left = left.slice(known.length);
      skipped += known;
      return known.length === length ? [] : [{ ...event, delta: event.delta.slice(known.length) }];
    }
    if (event.type === "rewritten" || event.type === "finished") {
      left = "";
      return [event.text.startsWith(kept) ? { ...event, text: event.text.slice(kept.length) } : event];
    }
    return [event];
  };
  return { ...reader, next: async () => (await reader.next())?.flatMap(next) };
}
