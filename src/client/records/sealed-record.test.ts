import * as fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";
import { anyCharacter } from "../../../test/support/any-character.ts";
import type { RecordKey } from "../link/web-platform.ts";
import { sampleRecord } from "./record-store.conformance.ts";
import { importRecordKey, openRecord, sealRecord, UntrustedRecord } from "./sealed-record.ts";

const streamKey = "0b0e1b22-27a5-4b0e-8a51-1d3f6f0a5c01";
const record = sampleRecord(streamKey);

describe("a sealed record", () => {
  let key: RecordKey;
  beforeAll(async () => {
    key = await importRecordKey(new Uint8Array(32).fill(7));
  });

  test("opens to what was sealed (P9)", async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: anyCharacter }), fc.nat(), async (label, generation) => {
        const bytes = await sealRecord(key, { ...record, label }, generation);
        const opened = await openRecord(key, bytes, { streamKey, atLeast: generation });
        expect(opened).toEqual({ record: { ...record, label: label.toWellFormed() }, generation });
      }),
      { numRuns: 25 },
    );
  });

  test("does not open once any bit of it was flipped", async () => {
    const bytes = await sealRecord(key, record, 3);
    const opened: string[] = [];
    for (let at = 0; at < bytes.length; at++) {
      for (let bit = 0; bit < 8; bit++) {
        const flipped = bytes.slice();
        flipped[at] = (flipped[at] ?? 0) ^ (1 << bit);
        const error = await openRecord(key, flipped, { streamKey, atLeast: 0 }).catch((thrown: unknown) => thrown);
        if (!(error instanceof UntrustedRecord)) opened.push(`bit ${bit} of byte ${at}`);
      }
    }
    expect(opened).toEqual([]);
  });

  test("does not open at any other length, under another name, with another key or as an older one", async () => {
    const bytes = await sealRecord(key, record, 3);
    const opened = (changed: Uint8Array<ArrayBuffer>, as = streamKey, atLeast = 3, with_ = key) =>
      openRecord(with_, changed, { streamKey: as, atLeast });
    for (let length = 0; length < bytes.length; length++)
      await expect(opened(bytes.slice(0, length))).rejects.toBeInstanceOf(UntrustedRecord);
    await expect(opened(new Uint8Array([...bytes, 0]))).rejects.toBeInstanceOf(UntrustedRecord);
    await expect(opened(bytes, "another")).rejects.toBeInstanceOf(UntrustedRecord);
    await expect(opened(bytes, streamKey, 4)).rejects.toThrow("older copy");
    const other = await importRecordKey(new Uint8Array(32).fill(8));
    await expect(opened(bytes, streamKey, 3, other)).rejects.toBeInstanceOf(UntrustedRecord);
  });

  test("is never sealed the same way twice", async () => {
    const [first, second] = [await sealRecord(key, record, 1), await sealRecord(key, record, 1)];
    expect(first).not.toEqual(second);
  });
});
