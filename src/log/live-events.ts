import { type Claims, eventIdOf, type TurnEvent, type TurnEventBody } from "./event.ts";
import { pageBytes } from "./turn-log.ts";

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

  readonly #claims: Claims | undefined;

  constructor(base: number, claims: Claims | undefined) {
    this.#base = base;
    this.#claims = claims;
  }

  get lastSeq(): number {
    return this.#base + this.#events.length;
  }

  /** Whether memory can answer a read after this number; that may be the end. */
  reaches(afterSeq: number): boolean {
    return afterSeq >= this.#base;
  }

  /** Takes in the events before those that are here, if these are all of them. */
  recall(before: readonly TurnEvent[]): void {
    if (before.length !== this.#base) return;
    const later = this.#events;
    this.#events = [];
    this.#bytes = 0;
    this.#base = 0;
    for (const event of [...before, ...later]) this.#add(event);
  }

  /** Gives the bodies their ids. */
  push(bodies: readonly TurnEventBody[], atMs: number): void {
    for (const body of bodies) this.#add({ ...body, eventId: eventIdOf(this.lastSeq + 1, this.#claims), atMs });
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
      return event.text.length + overheadBytes;
    case "started":
    case "usage":
    case "finished": // its text is in memory anyway, and would push out what readers are about to read
    case "failed":
    case "cancelled":
      return overheadBytes * 4;
    default:
      return event satisfies never;
  }
}
