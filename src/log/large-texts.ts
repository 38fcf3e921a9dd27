import { ownTurn } from "../base/node/unhurried.ts";
import { piecesOf } from "../base/pieces.ts";
import { emptyRow, type Medium } from "./medium.ts";
import { type InParts, type Op, partsOf } from "./rows.ts";
import type { RowBox } from "./sealing/sealer.ts";

/** In UTF-16 units: one insert takes 9 to 13 ms for each MB, while nothing else runs. */
const partLength = 1 << 20;

/** A part's worth of bytes, and a multiple of three: base64 pads none but the last. */
export const partBytes = (partLength / 4) * 3;

/** How long parts stay whose row was not stored after them; ms. */
const orphanMs = 600_000;

/** Texts in parts, if they are too long to be stored at once. */
export function largeParts(texts: readonly string[]): readonly (readonly string[])[] | undefined {
  const parts = texts.map((text) => [...piecesOf(text, partLength)]);
  return parts.length > 1 || (parts[0]?.length ?? 0) > 1 ? parts : undefined;
}

/** Bytes in parts, as base64. */
export function* base64Parts(bytes: Uint8Array): Generator<string, void> {
  for (let at = 0; at < bytes.length; at += partBytes)
    yield Buffer.from(bytes.subarray(at, at + partBytes)).toString("base64");
}

/** What stands in parts of a row, and what seals it. */
interface Place {
  readonly what: InParts;
  readonly of: string;
  readonly box: RowBox;
}

/**
 * Stores texts part by part, in a row of their own. The operation that is returned belongs to the commit that says where they are, and
 * refuses it where a sweep has removed the parts. Throws `degraded`.
 */
export async function storeParts(
  { rows, clock, retention }: Medium,
  { what, of, box }: Place,
  parts: Iterable<string>,
): Promise<Op> {
  const id = partsOf(what, of);
  const nowMs = clock.now();
  const row = { ...emptyRow, id, kind: "parts", createdAtMs: nowMs, expiresAtMs: nowMs + orphanMs } as const;
  const insert = { type: "insert", row, head: new Uint8Array(0) } as const;
  await rows.commit([{ type: "remove", id }, insert], false);
  let last = 0;
  for (const part of parts) {
    await ownTurn();
    const entries = [box.sealText(`${what} ${last}`, part)];
    await rows.commit([{ type: "update", id, guard: { last }, entries }], false);
    last++;
  }
  return { type: "update", id, guard: { last }, set: { expiresAtMs: nowMs + 2 * retention.keptMs } };
}

/** The texts, by how many parts each has; undefined where one is not there. */
export async function readParts(
  { rows }: Medium,
  { what, of, box }: Place,
  counts: readonly number[],
): Promise<readonly string[] | undefined> {
  const texts: string[] = [];
  let at = 0;
  for (const count of counts) {
    let text = "";
    for (const end = at + count; at < end; at++) {
      await ownTurn();
      const [entry] = await rows.entries(partsOf(what, of), at, { count: 1, bytes: 1 });
      if (entry === undefined) return undefined;
      text += box.openText(`${what} ${at}`, entry.bytes);
    }
    texts.push(text);
  }
  return texts;
}
