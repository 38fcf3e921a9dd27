import { describe, expect, test } from "vitest";
import { newRecord, type StreamRecord } from "./record.ts";
import type { RecordStore } from "./record-store.ts";

/** One implementation under test: its promises, and a way to change its stored data from outside. */
export interface RecordStoreHarness {
  /** The store, as this process or page opens it. */
  readonly open: () => Promise<RecordStore>;
  /** The same store as another process or page opens it, after this one has gone without a word; undefined where nothing is kept. */
  readonly reopen?: () => Promise<RecordStore>;
  /** The bytes at rest, to be tampered with; undefined where there are none. */
  readonly atRest?: {
    readonly read: (streamKey: string) => Promise<Uint8Array>;
    readonly write: (streamKey: string, bytes: Uint8Array) => Promise<void>;
    /** Whether what was set aside is still there. */
    readonly keptAside: (streamKey: string, bytes: Uint8Array) => Promise<boolean>;
  };
}

export const sampleRecord = (streamKey: string): StreamRecord => ({
  ...newRecord({ streamKey, encryptionKey: "A".repeat(43) }, 1_800_000_000_000, "a label, ünïcode"),
  created: true,
  nextSeqno: 2,
  unacked: [{ seqno: 1, kind: "tool_result", payload: "aGVsbG8=" }],
  calls: [{ callId: "call-1", eventId: "a4", state: "started", before: { eventId: "a3", chain: "eA==", count: 3 } }],
});

/** The cases that every record store passes. Source: docs/dev/wire/idempotent-streams.md, "Hazards", "Sealing and tickets". */
export function describeRecordStore(
  name: string,
  harnessOf: () => RecordStoreHarness | Promise<RecordStoreHarness>,
): void {
  const a = "0b0e1b22-27a5-4b0e-8a51-1d3f6f0a5c01";
  const b = "7c9a2f64-52d1-4f6e-9d0b-6a1c2e3d4f02";

  describe(`the record store: ${name}`, () => {
    test("gives back what was saved last, and lists it", async () => {
      const { open } = await harnessOf();
      const store = await open();
      const owned = await store.take(a);
      expect(await owned?.read()).toBeUndefined();
      await owned?.save(sampleRecord(a));
      const last = { ...sampleRecord(a), nextSeqno: 7 };
      await owned?.save(last);
      expect(await owned?.read()).toEqual(last);
      expect(await store.list()).toEqual([a]);
    });

    test("keeps streams apart, and forgets one when told to", async () => {
      const { open } = await harnessOf();
      const store = await open();
      const [first, second] = [await store.take(a), await store.take(b)];
      await first?.save(sampleRecord(a));
      await second?.save(sampleRecord(b));
      await first?.remove();
      expect(await first?.read()).toBeUndefined();
      expect(await second?.read()).toEqual(sampleRecord(b));
      expect(await store.list()).toEqual([b]);
      await first?.save(sampleRecord(a));
      expect(await first?.read()).toEqual(sampleRecord(a));
    });

    test("shows a record to an observer, whichever process owns it", async () => {
      const { open } = await harnessOf();
      const store = await open();
      expect(await store.peek(a)).toBeUndefined();
      const owned = await store.take(a);
      await owned?.save(sampleRecord(a));
      expect(await store.peek(a)).toEqual(sampleRecord(a));
      const last = { ...sampleRecord(a), nextSeqno: 7 };
      await owned?.save(last);
      expect(await store.peek(a)).toEqual(last);
      expect(await owned?.read()).toEqual(last);
      await owned?.release();
      expect(await store.peek(a)).toEqual(last);
      await (await store.take(a))?.remove();
      expect(await store.peek(a)).toBeUndefined();
    });

    test("has one owner for a record at a time", async () => {
      const { open } = await harnessOf();
      const store = await open();
      const owned = await store.take(a);
      await owned?.save(sampleRecord(a));
      expect(await store.take(a)).toBeUndefined();
      await owned?.release();
      await owned?.release();
      const next = await store.take(a);
      expect(await next?.read()).toEqual(sampleRecord(a));
      await expect(owned?.save(sampleRecord(a))).rejects.toMatchObject({ code: "idempotency_conflict" });
    });

    test("lets one of many who ask at once have it", async () => {
      const { open } = await harnessOf();
      const store = await open();
      const taken = await Promise.all(Array.from({ length: 8 }, () => store.take(a)));
      expect(taken.filter((owned) => owned !== undefined)).toHaveLength(1);
    });

    test("sets a record aside, so that its name is free", async () => {
      const { open } = await harnessOf();
      const store = await open();
      const owned = await store.take(a);
      await owned?.save(sampleRecord(a));
      expect(await owned?.setAside()).not.toBe("");
      expect(await store.list()).toEqual([]);
      expect(await owned?.read()).toBeUndefined();
    });

    test("keeps records for the next process", async ({ skip }) => {
      const { open, reopen } = await harnessOf();
      if (reopen === undefined) return skip("it keeps nothing beyond the process");
      const owned = await (await open()).take(a);
      await owned?.save(sampleRecord(a));
      await owned?.release();
      const next = await reopen();
      expect(await next.list()).toEqual([a]);
      expect(await (await next.take(a))?.read()).toEqual(sampleRecord(a));
    });

    describe("when stored data was changed from outside", () => {
      /** Saves a record, changes its bytes with `meddle`, and returns what the next owner gets. */
      async function meddled(
        harness: RecordStoreHarness,
        meddle: (
          bytes: Uint8Array,
          harness: Required<RecordStoreHarness>["atRest"],
        ) => Promise<Uint8Array> | Uint8Array,
      ): Promise<{ readonly error: unknown; readonly kept: boolean }> {
        const { atRest } = harness;
        if (atRest === undefined) throw new Error("skip first");
        const store = await harness.open();
        const owned = await store.take(a);
        await owned?.save(sampleRecord(a));
        const bytes = await meddle(await atRest.read(a), atRest);
        await atRest.write(a, bytes);
        const error = await owned?.read().then(
          (record) => ({ got: record }),
          (thrown: unknown) => thrown,
        );
        await owned?.release();
        return { error, kept: await atRest.keptAside(a, bytes) };
      }
      const refused = { error: { code: "internal", details: { reason: "damaged_record" } }, kept: true };

      test("a change of any byte is noticed, and the record is neither used nor deleted", async ({ skip }) => {
        const harness = await harnessOf();
        if (harness.atRest === undefined) return skip("nothing is at rest");
        const owned = await (await harness.open()).take(a);
        await owned?.save(sampleRecord(a));
        const { length } = await harness.atRest.read(a);
        await owned?.release();
        for (const at of [0, 4, 12, 13, 24, 25, length >> 1, length - 17, length - 16, length - 1]) {
          const found = await meddled(harness, (bytes) => bytes.map((byte, i) => (i === at ? byte ^ 0x40 : byte)));
          expect(found).toMatchObject(refused);
        }
      });

      test("an observer gets the error too, and changes nothing", async ({ skip }) => {
        const harness = await harnessOf();
        if (harness.atRest === undefined) return skip("nothing is at rest");
        const store = await harness.open();
        await (await store.take(a))?.save(sampleRecord(a));
        const changed = (await harness.atRest.read(a)).map((byte, i) => (i === 30 ? byte ^ 1 : byte));
        await harness.atRest.write(a, changed);
        await expect(store.peek(a)).rejects.toMatchObject(refused.error);
        expect(await harness.atRest.read(a)).toEqual(changed);
        expect(await store.list()).toEqual([a]);
      });

      test("a record that was cut short shows", async ({ skip }) => {
        const harness = await harnessOf();
        if (harness.atRest === undefined) return skip("nothing is at rest");
        for (const keep of [0, 1, 20, 40, 100])
          expect(await meddled(harness, (bytes) => bytes.slice(0, keep))).toMatchObject(refused);
        expect(await meddled(harness, (bytes) => bytes.slice(0, -1))).toMatchObject(refused);
      });

      test("another stream's record does not pass for this one's", async ({ skip }) => {
        const harness = await harnessOf();
        if (harness.atRest === undefined) return skip("nothing is at rest");
        const { atRest } = harness;
        const other = await (await harness.open()).take(b);
        await other?.save(sampleRecord(b));
        expect(await meddled(harness, () => atRest.read(b))).toMatchObject(refused);
      });

      test("an older copy of a record does not pass for the last one", async ({ skip }) => {
        const harness = await harnessOf();
        const { atRest } = harness;
        if (atRest === undefined) return skip("nothing is at rest");
        const store = await harness.open();
        const copies: Uint8Array[] = [];
        const owned = await store.take(a);
        for (let i = 0; i < 4; i++) {
          await owned?.save({ ...sampleRecord(a), nextSeqno: i });
          copies.push(await atRest.read(a));
        }
        for (const older of copies.slice(0, -1)) {
          await atRest.write(a, older);
          await expect(owned?.read()).rejects.toMatchObject(refused.error);
          await owned?.save(sampleRecord(a)); // a fresh one, as old as the last
          for (const copy of copies) expect(copy).not.toEqual(await atRest.read(a));
        }
      });
    });
  });
}
