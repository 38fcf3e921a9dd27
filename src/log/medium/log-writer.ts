import type { TurnId } from "../../base/ids.ts";
import { isTerminal, type TurnEventBody } from "../event.ts";
import { encodeOutline } from "../outline.ts";
import { expiryOf, type Retention } from "../retention.ts";
import type { Appended, LogWriter } from "../store.ts";
import type { OutlineCodec, TurnCodec } from "./codec.ts";
import type { EventRow, LogMedium, TurnRow } from "./medium.ts";
import { encodeRecord } from "./record-text.ts";

export interface WriterOptions {
  readonly medium: LogMedium;
  readonly codec: TurnCodec;
  readonly retention: Retention;
  readonly row: TurnRow;
  /** The turn's wrapped key after its end; undefined when the key stays the same. */
  readonly closedKey: Uint8Array | undefined;
  /** Seals the gateway's outlines of events; undefined if the gateway can read the turn anyway. */
  readonly outlines: OutlineCodec | undefined;
}

const nothing = new Uint8Array(0);

/** Seals events and appends them under one claim. Appends of one writer run one after the other. */
export class MediumWriter implements LogWriter {
  readonly turnId: TurnId;
  readonly epoch: number;
  readonly #closedKey: Uint8Array | undefined;
  readonly #medium: LogMedium;
  readonly #codec: TurnCodec;
  readonly #outlines: OutlineCodec | undefined;
  readonly #retention: Retention;
  #lastSeq: number;
  #lastMac: Uint8Array;
  #tail: Promise<unknown> = Promise.resolve();

  constructor({ medium, codec, retention, row, closedKey, outlines }: WriterOptions) {
    this.turnId = row.turnId;
    this.epoch = row.epoch;
    this.#closedKey = closedKey;
    this.#medium = medium;
    this.#codec = codec;
    this.#outlines = outlines;
    this.#retention = retention;
    this.#lastSeq = row.lastSeq;
    this.#lastMac = row.lastMac;
  }

  append(bodies: readonly TurnEventBody[], atMs: number): Promise<Appended> {
    const done = this.#tail.then(() => this.#append(bodies, atMs));
    this.#tail = done.catch(() => undefined); // the caller of that append gets the error; the next one starts afresh
    return done;
  }

  async #append(bodies: readonly TurnEventBody[], atMs: number): Promise<Appended> {
    if (bodies.length === 0) return "appended";
    const rows: EventRow[] = [];
    let seq = this.#lastSeq;
    let mac = this.#lastMac;
    for (const body of bodies) {
      seq += 1;
      const place = { seq, epoch: this.epoch, kind: body.type, atMs };
      const sealed = this.#codec.encode(place, encodeRecord(body, seq, mac), mac);
      const outline = this.#outlines?.seal(place, encodeOutline(body)) ?? nothing;
      rows.push({ ...place, payload: sealed.payload, mac: sealed.mac, outline });
      mac = sealed.mac;
    }
    const last = bodies.at(-1);
    const ends = last !== undefined && isTerminal(last);
    if (bodies.slice(0, -1).some(isTerminal)) throw new RangeError("nothing may follow a terminal event");
    const end = ends
      ? { outcome: last.type, atMs, expiresAtMs: expiryOf(atMs, atMs, this.#retention), wrappedKey: this.#closedKey }
      : undefined;
    const outcome = await this.#medium.append(this.turnId, {
      epoch: this.epoch,
      afterSeq: this.#lastSeq,
      events: rows,
      end,
    });
    if (outcome !== "appended") return outcome;
    this.#lastSeq = seq;
    this.#lastMac = mac;
    return outcome;
  }
}
