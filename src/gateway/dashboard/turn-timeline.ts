import { createHash } from "node:crypto";
import type { ErrorRecord } from "../../base/errors.ts";
import { ideName } from "../../base/ide-name.ts";
import { type EventId, startOfLog, type TurnId } from "../../base/ids.ts";
import { writeJson } from "../../base/json.ts";
import { isTerminal, type TurnEvent } from "../../log/event.ts";
import type { TurnRecord } from "../../log/store.ts";
import type { Turns } from "../../turns/open-turns.ts";
import type { Encoder, WireEvent } from "../dialects/dialect.ts";
import { openTimelineEntry, timelineEntry } from "./turn-summary.ts";

/** A turn's events as they come, to its end, with its text while `showsText`. If the client sealed the turn, an entry is the event's outline. */
export async function* turnTimeline(
  { turns }: { readonly turns: Pick<Turns, "follow" | "outline"> },
  { turnId, sealed, outline }: Pick<TurnRecord, "turnId" | "sealed" | "outline">,
  showsText: () => boolean,
  signal: AbortSignal,
): AsyncGenerator<WireEvent, void> {
  const entry = (outline: unknown): WireEvent => ({ name: "entry", data: writeJson(outline) });
  if (sealed === true) {
    let isOpen = false;
    try {
      for await (const event of turns.outline(turnId, startOfLog, signal)) {
        isOpen = true;
        yield entry(timelineEntry(event));
      }
    } catch (error) {
      if (isOpen || outline === undefined) throw error;
      for (const event of outline) yield entry(timelineEntry(event)); // after a restart nobody can open it: its row says in short what it was
    }
  } else {
    for await (const event of turns.follow(turnId, startOfLog, signal))
      yield entry(openTimelineEntry(event, showsText()));
  }
}

/**
 * The log's events as they are, but for the word of the IDE. The terminal one says besides how many were before it (`eventCount`), and their digest
 * (`chainDigest`, see `EventChain`; each event's text is its `data`). `before` is over the events up to where it begins.
 */
export function turnEventsEncoder(before: EventChain): Encoder {
  return {
    open: () => [],
    encode(event: TurnEvent): readonly WireEvent[] {
      const proof = isTerminal(event) ? { eventCount: before.count, chainDigest: before.digest } : {};
      const ide = event.type === "started" && event.ide !== undefined ? { ide: ideName(event.ide) } : {};
      const data = writeJson({ ...event, ...ide, ...proof });
      before.push(data);
      return [{ name: event.type, data }];
    },
    heartbeat: () => [{ name: "alive", data: "{}" }],
    broken: (error: ErrorRecord) => [{ name: "error", data: writeJson(error) }],
  };
}

/** The chain over the events up to and including the cursor's. Throws as reading them does. */
export async function chainUpTo(
  turns: Pick<Turns, "follow">,
  turnId: TurnId,
  cursor: EventId,
  signal: AbortSignal,
): Promise<EventChain> {
  const chain = new EventChain();
  if (cursor === startOfLog) return chain;
  const encoder = turnEventsEncoder(chain);
  for await (const event of turns.follow(turnId, startOfLog, signal)) {
    encoder.encode(event);
    if (event.eventId >= cursor) break;
  }
  return chain;
}

/**
 * Counts and digests a turn's events as they are read, so that a reader of all of them can check that none is missing, changed or
 * doubled. The digest over events 1 … n is SHA-256 over the digest of 1 … n-1 and the text of event n (UTF-8); of none it is empty.
 */
export class EventChain {
  #count = 0;
  #head: Uint8Array = new Uint8Array(0);

  /** How many events it is over. */
  get count(): number {
    return this.#count;
  }

  /** base64url without padding. */
  get digest(): string {
    return Buffer.from(this.#head).toString("base64url");
  }

  push(text: string): void {
    this.#head = createHash("sha256").update(this.#head).update(text).digest();
    this.#count++;
  }
}
