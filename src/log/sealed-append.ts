import type { TurnId } from "../base/ids.ts";
import { isTerminal, type OutlinedEvent, type TurnEventBody } from "./event.ts";
import type { Row, Rows } from "./rows.ts";
import { type RowBox, type Sealer, tagOf } from "./sealing/sealer.ts";
import type { AppendOutcome, Retention } from "./store.ts";

/** The content of an entry of a turn. `atMs` is epoch ms. */
export interface StoredEvent {
  readonly atMs: number;
  readonly body: TurnEventBody;
}

interface WriterParts {
  readonly rows: Rows;
  readonly sealer: Sealer;
  readonly retention: Retention;
  readonly row: Row;
  readonly box: RowBox;
}

/** Seals events and appends them under one claim. An append that throws `degraded` is the last: nobody knows what was stored. */
export class RowWriter {
  readonly #parts: WriterParts;
  #last: number;
  #tag: Uint8Array;

  constructor(parts: WriterParts, tag: Uint8Array) {
    this.#parts = parts;
    this.#last = parts.row.last;
    this.#tag = tag;
  }

  get turnId(): TurnId {
    return this.#parts.row.id as TurnId; // the row of a turn
  }

  get epoch(): number {
    return this.#parts.row.epoch;
  }

  /** As `LogWriter.append`. Appends are stored in the order of the calls. `outline`: that of a turn that ends now, for its row. */
  async append(
    bodies: readonly TurnEventBody[],
    atMs: number,
    outline: readonly OutlinedEvent[],
  ): Promise<AppendOutcome> {
    if (bodies.length === 0) return "appended";
    const { rows, sealer, retention, row, box } = this.#parts;
    const { id, epoch } = row;
    const guard = { epoch, last: this.#last, open: true };
    const entries = bodies.map((body) => {
      this.#last += 1;
      const entry = box.sealEntry(this.#last, JSON.stringify({ atMs, body } satisfies StoredEvent), this.#tag);
      this.#tag = tagOf(entry);
      return entry;
    });
    const last = bodies.at(-1);
    const ends = last !== undefined && isTerminal(last);
    if (bodies.slice(0, -1).some(isTerminal)) throw new RangeError("nothing may follow a terminal event");
    const expiresAtMs = ends ? atMs + retention.keptMs : undefined;
    const proof = sealer.prove({ ...row, last: this.#last, open: !ends, expiresAtMs });
    const key = ends ? sealer.closedKey(row) : undefined;
    const end = ends && {
      outcome: last.type,
      ...(key === undefined ? {} : { key }),
      outline: sealer.sealLabel(id, "outline", JSON.stringify(outline)),
    };
    const set = end === false || expiresAtMs === undefined ? { proof } : { proof, open: false, expiresAtMs, meta: end };
    const flush = ends || bodies.some(({ type }) => type === "started");
    const outcome = await rows.commit([{ type: "update", id, guard, set, entries }], flush);
    if (outcome.type === "done") return "appended";
    if (outcome.by?.kind !== "turn") return "removed";
    return outcome.by.epoch === epoch && !outcome.by.open ? "ended" : "fenced";
  }
}
