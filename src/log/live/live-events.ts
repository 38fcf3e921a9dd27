import type { TurnEvent, TurnEventBody } from "../event.ts";
import { eventIdOf } from "../event-id.ts";
import { pageBytes } from "../medium/page-limit.ts";

/** Bytes of a turn, estimated, that stay in memory beyond the unstored ones. They are dropped in halves. */
const keptBytes = pageBytes;

/** The size of an event beside its text, in bytes. */
const overheadBytes = 64;

/** The newest events of one turn, in order. Those before them are in the store, and nowhere else. */
export class LiveEvents {
  #events: TurnEvent[] = [];
  /** Number of the event before the first that is here. */
  #base: number;
  #bytes = 0;

  constructor(base: number) {
    this.#base = base;
  }

  get lastSeq(): number {
    return this.#base + this.#events.length;
  }

  /** Whether the event after this one is here, or would be the next. */
  reaches(afterSeq: number): boolean {
    return afterSeq >= this.#base;
  }

  /** Gives the bodies their ids. */
  push(bodies: readonly TurnEventBody[], atMs: number): void {
    for (const body of bodies) this.#add({ ...body, eventId: eventIdOf(this.lastSeq + 1), atMs });
  }

  /** Adds all earlier events, read from the store. */
  unshift(events: readonly TurnEvent[], storedSeq: number): void {
    if (events.length !== this.#base) return;
    const newer = this.#events;
    this.#events = [];
    this.#base = 0;
    this.#bytes = 0;
    for (const event of [...events, ...newer]) this.#add(event);
    this.dropCold(storedSeq);
  }

  /** The events after that one, as many as one page has room for. */
  after(afterSeq: number, limit: number): readonly TurnEvent[] {
    const from = afterSeq - this.#base;
    let bytes = 0;
    let to = from;
    while (to < this.#events.length && to - from < limit) {
      bytes += sizeOf(this.#events[to]);
      if (to > from && bytes > pageBytes) break;
      to += 1;
    }
    return this.#events.slice(from, to);
  }

  /** Drops the oldest events beyond the memory limit, but only events that the store holds. */
  dropCold(storedSeq: number): void {
    if (this.#bytes <= keptBytes * 2) return;
    let dropped = 0;
    while (this.#bytes > keptBytes && this.#base + dropped < storedSeq && dropped < this.#events.length - 1) {
      this.#bytes -= sizeOf(this.#events[dropped]);
      dropped += 1;
    }
    this.#events.splice(0, dropped);
    this.#base += dropped;
  }

  #add(event: TurnEvent): void {
    this.#events.push(event);
    this.#bytes += sizeOf(event);
  }
}

/** The estimated size of an event in memory, and in a store. */
function sizeOf(event: TurnEvent | undefined): number {
  if (event === undefined) return 0;
  switch (event.type) {
    case "text":
    case "thinking":
      return event.delta.length + overheadBytes;
    case "tool_call":
      return event.argumentsDelta.length + event.name.length + overheadBytes;
    case "rewritten":
    case "finished":
      return event.text.length + overheadBytes;
    case "started":
    case "usage":
    case "failed":
    case "cancelled":
      return overheadBytes * 4;
    default:
      return event satisfies never;
  }
}
