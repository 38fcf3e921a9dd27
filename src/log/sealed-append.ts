import { isTerminal, type OutlinedEvent, type TurnEventBody } from "./event.ts";
import type { Medium } from "./medium.ts";
import { formInParts, type Op, type Row } from "./rows.ts";
import { type RowBox, tagOf } from "./sealing/sealer.ts";

/** The content of an entry of a turn. `atMs` is epoch ms. */
export interface StoredEvent {
  readonly atMs: number;
  readonly body: TurnEventBody;
  /** How many parts the text of an end has that stands in parts; it is empty here. */
  readonly textParts?: number;
}

/** What seals the entries of a turn. */
export interface EntryChain {
  readonly box: RowBox;
  /** The tag of the last entry: the next one is chained to it. */
  readonly tag: Uint8Array;
}

/**
 * The operation that appends events after entry number `last` of a row, under the claim that the row shows; the tag of their last entry; and
 * whether they must be on the disk. Pure, but for the nonces.
 */
export function sealedAppend(
  { row, medium: { sealer, retention, clock } }: { readonly row: Row; readonly medium: Medium },
  { box, tag: before }: EntryChain,
  last: number,
  {
    bodies,
    atMs,
    outline,
    textParts,
  }: {
    readonly bodies: readonly TurnEventBody[];
    readonly atMs: number;
    /** The text of the end is stored in so many parts. */
    readonly textParts?: number | undefined;
    /** The answer in short with these events: it goes into the row of a turn that ends. */
    readonly outline: readonly OutlinedEvent[];
  },
): { readonly op: Op; readonly tag: Uint8Array; readonly flush: boolean } {
  const { id, epoch } = row;
  let tag = before;
  const entries = bodies.map((body, index) => {
    const isApart = textParts !== undefined && body.type === "finished";
    const stored: StoredEvent = isApart ? { atMs, body: { ...body, text: "" }, textParts } : { atMs, body };
    const entry = box.sealEntry(last + index + 1, JSON.stringify(stored), tag);
    tag = tagOf(entry);
    return entry;
  });
  const end = bodies.find(isTerminal);
  const expiresAtMs = end === undefined ? undefined : clock.now() + retention.keptMs;
  const proof = sealer.prove({ ...row, last: last + bodies.length, open: end === undefined, expiresAtMs });
  const key = end === undefined ? undefined : sealer.closedKey(row);
  const meta = {
    ...(end !== undefined && { outcome: end.type, outline: sealer.sealLabel(id, "outline", JSON.stringify(outline)) }),
    ...(key !== undefined && { key }),
    ...(textParts !== undefined && { form: formInParts }),
  };
  const set = expiresAtMs === undefined ? { proof } : { proof, open: false, expiresAtMs, meta };
  const op = { type: "update", id, guard: { epoch, last, open: true }, set, entries } as const;
  return { op, tag, flush: end !== undefined || bodies.some(({ type }) => type === "started") };
}
