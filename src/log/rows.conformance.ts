import { spawn } from "node:child_process";
import { once } from "node:events";
import * as fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Op, Row, Rows, RowsAbilities } from "./rows.ts";
import { RowsModel } from "./rows-model.fake.ts";

/** One place where rows are kept, empty at first. */
export interface RowsHarness {
  /** A new connection to it, each time. */
  open(): Promise<Rows>;
  /** JavaScript for another process: an expression that opens it, with `await`. Undefined where no other process can. */
  readonly elsewhere?: string;
  dispose(): Promise<void>;
}

export const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const textOf = (entries: readonly { readonly bytes: Uint8Array }[]) =>
  entries.map((entry) => new TextDecoder().decode(entry.bytes));
const never = new AbortController().signal;
const all = { count: 1_000, bytes: 1_000_000 };

/** A row as its turn begins. */
export function rowFake(id: string, more: Partial<Row> = {}): Row {
  const fresh = {
    kind: "turn",
    createdAtMs: 1,
    epoch: 1,
    last: 0,
    open: true,
    owner: "a",
    expiresAtMs: undefined,
  } as const;
  return { id, ...fresh, tags: [], meta: {}, proof: bytes("proof"), ...more };
}

export const insert = (id: string, more: Partial<Row> = {}): Op => ({
  type: "insert",
  row: rowFake(id, more),
  head: bytes(`head of ${id}`),
});

/** The cases that every medium of rows passes; the same cases in the same order for each. */
export function describeRows(name: string, abilities: RowsAbilities, makeHarness: () => Promise<RowsHarness>): void {
  describe(`rows: ${name}`, () => {
    let harness: RowsHarness;
    let rows: Rows;
    beforeEach(async () => {
      harness = await makeHarness();
      rows = await harness.open();
    });
    afterEach(async () => {
      await rows.close();
      await harness.dispose();
    });
    const done = async (...ops: readonly Op[]) => expect(await rows.commit(ops, false)).toEqual({ type: "done" });
    const append = (id: string, ...texts: readonly string[]): Op => ({ type: "update", id, entries: texts.map(bytes) });

    test("say what they can do", () => {
      expect(rows.abilities).toEqual(abilities);
    });

    describe("an insert", () => {
      test("keeps every column, and the head apart", async () => {
        const row = rowFake("t", {
          kind: "stream",
          createdAtMs: 1_750_000_000_123,
          epoch: 3,
          open: false,
          owner: "gateway 1",
          expiresAtMs: 1_750_000_000_999,
          tags: ["key:k", "body:b"],
          meta: {
            text: 'a\u0000\n"ü€😀',
            number: 9_007_199_254_740_991,
            part: 0.1,
            list: [],
            nested: { a: [1, {}] },
            no: false,
          },
          proof: Uint8Array.from({ length: 256 }, (_, i) => i),
        });
        const head = Uint8Array.from({ length: 70_000 }, (_, i) => i % 251);
        await done({ type: "insert", row, head });
        expect(await rows.get("t")).toEqual(row);
        expect(await rows.get("t", true)).toEqual({ ...row, head });
        expect(await rows.find({ kind: "stream", limit: 5 })).toEqual([row]);
        expect(await rows.get("another")).toBeUndefined();
      });

      test("is refused by a row with the same id", async () => {
        await done(insert("t", { owner: "first" }));
        const refused = { type: "refused", at: 0, by: rowFake("t", { owner: "first" }) };
        expect(await rows.commit([insert("t", { owner: "second" })], true)).toEqual(refused);
        expect(await rows.get("t", true)).toEqual({ ...rowFake("t", { owner: "first" }), head: bytes("head of t") });
      });

      test("is refused by the row that holds its key, and by no row with another tag of it", async () => {
        const [key, body] = ["key:k", "body:b"];
        await done(insert("first", { tags: [key, body] }));
        await done(insert("second", { tags: ["key:other", body] }));
        const held = rowFake("first", { tags: [key, body] });
        expect(await rows.commit([insert("third", { tags: [body, key] })], true)).toEqual({
          type: "refused",
          at: 0,
          by: held,
        });
        expect(await rows.get("third")).toBeUndefined();
        expect(await rows.find({ kind: "turn", tag: body, limit: 5 })).toHaveLength(2);
      });

      test("of two that come at once under one key, one is refused by the other", async () => {
        const tags = ["key:k"];
        const outcomes = await Promise.all(["t1", "t2"].map((id) => rows.commit([insert(id, { tags })], true)));
        expect(outcomes).toEqual([{ type: "done" }, { type: "refused", at: 0, by: rowFake("t1", { tags }) }]);
      });

      test("holds under the key of a row that is removed, also in the same commit", async () => {
        await done(insert("t", { tags: ["key:k"] }), append("t", "a"));
        const tombstone = { kind: "tombstone", tags: ["key:k"], open: false } as const;
        await done({ type: "remove", id: "t" }, insert("t", tombstone));
        expect(await rows.get("t")).toEqual(rowFake("t", tombstone));
        expect(await rows.entries("t", 0, all)).toEqual([]);
        await done({ type: "remove", id: "t" });
        await done(insert("t2", { tags: ["key:k"] }));
      });
    });

    describe("an update", () => {
      test("changes the columns that it names, and no others", async () => {
        const before = rowFake("t", { tags: ["key:k"], meta: { a: 1 }, expiresAtMs: 7 });
        await done({ type: "insert", row: before, head: bytes("h") });
        await done({ type: "update", id: "t", set: { owner: "b" } });
        expect(await rows.get("t")).toEqual({ ...before, owner: "b" });
        await done({ type: "update", id: "t", set: { open: false, expiresAtMs: 9, proof: bytes("new") } });
        const after = { ...before, owner: "b", open: false, expiresAtMs: 9, proof: bytes("new") };
        expect(await rows.get("t")).toEqual(after);
        await done({ type: "update", id: "t", set: { expiresAtMs: null } });
        expect(await rows.get("t", true)).toEqual({ ...after, expiresAtMs: undefined, head: bytes("h") });
      });

      test("merges members of meta one by one, and removes those that are null", async () => {
        await done(insert("t", { meta: { a: 1, b: { x: 1 }, c: [1] } }));
        await done({ type: "update", id: "t", set: { meta: { b: { y: 2 }, c: null, d: "new" } } });
        expect((await rows.get("t"))?.meta).toEqual({ a: 1, b: { y: 2 }, d: "new" });
        await done({ type: "update", id: "t", set: { meta: { a: null, b: null, d: null, e: null } } });
        expect((await rows.get("t"))?.meta).toEqual({});
      });

      test("adds entries after the last one", async () => {
        await done(insert("t"), append("t", "a", "b"));
        await done({ type: "update", id: "t", guard: { epoch: 1, last: 2, open: true }, entries: [bytes("c")] });
        expect(await rows.entries("t", 0, all)).toEqual([
          { seq: 1, bytes: bytes("a") },
          { seq: 2, bytes: bytes("b") },
          { seq: 3, bytes: bytes("c") },
        ]);
        expect((await rows.get("t"))?.last).toBe(3);
      });

      test.each([
        ["epoch", { epoch: 2 }],
        ["number", { last: 0 }],
        ["state", { open: false }],
      ])("is refused by a row with another %s, and changes nothing then", async (_, guard) => {
        await done(insert("t"), append("t", "a"));
        const before = await rows.get("t");
        const late: Op = {
          type: "update",
          id: "t",
          guard: { epoch: 1, last: 1, open: true, ...guard },
          entries: [bytes("late")],
          set: { owner: "b" },
        };
        expect(await rows.commit([late], true)).toEqual({ type: "refused", at: 0, by: before });
        expect(await rows.get("t")).toEqual(before);
        expect(await rows.entries("t", 0, all)).toHaveLength(1);
      });

      test("of a row that is gone is refused by nothing", async () => {
        expect(await rows.commit([append("t", "a")], false)).toEqual({ type: "refused", at: 0, by: undefined });
        expect(await rows.entries("t", 0, all)).toEqual([]);
      });

      test("that claims a row fences its writer out", async () => {
        await done(insert("t"), append("t", "a"));
        await done({ type: "update", id: "t", guard: { open: true }, claim: true, set: { owner: "b" } });
        const claimed = rowFake("t", { epoch: 2, last: 1, owner: "b" });
        const zombie: Op = { type: "update", id: "t", guard: { epoch: 1, last: 1 }, entries: [bytes("late")] };
        expect(await rows.commit([zombie], true)).toEqual({ type: "refused", at: 0, by: claimed });
        await done({ type: "update", id: "t", guard: { epoch: 2, last: 1 }, entries: [bytes("b")] });
      });
    });

    describe("a commit of several operations", () => {
      test("does them in order, each over what the ones before it left", async () => {
        await done(
          insert("t"),
          append("t", "a"),
          { type: "update", id: "t", guard: { last: 1 }, claim: true },
          insert("u"),
          {
            type: "remove",
            id: "u",
            guard: { last: 0 },
          },
        );
        expect(await rows.get("t")).toEqual(rowFake("t", { epoch: 2, last: 1 }));
        expect(await rows.get("u")).toBeUndefined();
      });

      test("does nothing if one of them is refused, and says which", async () => {
        await done(insert("s", { kind: "stream", tags: ["a"] }), insert("old"));
        const ops: Op[] = [
          { type: "update", id: "s", guard: { last: 0 }, entries: [bytes("m")], set: { owner: "b", meta: { a: 1 } } },
          insert("t", { tags: ["key:k"] }),
          { type: "remove", id: "old" },
          { type: "update", id: "old", guard: { epoch: 1 } },
        ];
        expect(await rows.commit(ops, true)).toEqual({ type: "refused", at: 3, by: rowFake("old") });
        expect(await rows.get("s")).toEqual(rowFake("s", { kind: "stream", tags: ["a"] }));
        expect(await rows.entries("s", 0, all)).toEqual([]);
        expect(await rows.get("t", true)).toBeUndefined();
        expect(await rows.find({ kind: "turn", limit: 5 })).toEqual([rowFake("old")]);
        await done(insert("t2", { tags: ["key:k"] }));
      });
    });

    describe("commits that come at once", () => {
      test("are done in their order, whether they are flushed or not", async () => {
        await done(insert("t"));
        const commits = Array.from({ length: 100 }, (_, i) =>
          rows.commit([{ type: "update", id: "t", guard: { last: i }, entries: [bytes(String(i))] }], i % 3 === 0),
        );
        expect(new Set((await Promise.all(commits)).map(({ type }) => type))).toEqual(new Set(["done"]));
        expect(textOf(await rows.entries("t", 0, all))).toEqual(Array.from({ length: 100 }, (_, i) => String(i)));
      });

      test("do not share their fate: one that is refused or broken costs the others nothing", async () => {
        await done(insert("t"));
        const circular: Record<string, unknown> = {};
        circular["self"] = circular;
        const outcomes = await Promise.all(
          [
            [append("t", "a")],
            [append("t", "half"), append("gone", "b")],
            [append("t", "half"), insert("u", { meta: circular })],
            [append("t", "b")],
          ].map((ops) =>
            rows.commit(ops, true).then(
              ({ type }) => type,
              () => "broken",
            ),
          ),
        );
        expect(outcomes).toEqual(["done", "refused", "broken", "done"]);
        expect(textOf(await rows.entries("t", 0, all))).toEqual(["a", "b"]);
      });
    });

    describe("a find", () => {
      beforeEach(async () => {
        await done(
          insert("t1", { createdAtMs: 10, tags: ["x"], owner: "a" }),
          insert("t3", { createdAtMs: 30, tags: ["x", "y"], owner: "b" }),
          insert("t2", { createdAtMs: 20, tags: ["x"], owner: "a", open: false }),
          insert("s1", { createdAtMs: 15, tags: ["x"], kind: "stream" }),
        );
      });
      const found = async (filter: Partial<Parameters<Rows["find"]>[0]>) =>
        (await rows.find({ kind: "turn", limit: 10, ...filter })).map(({ id }) => id);

      test("returns the rows of a kind, newest first, and no more than asked for", async () => {
        expect(await found({})).toEqual(["t3", "t2", "t1"]);
        expect(await found({ limit: 2 })).toEqual(["t3", "t2"]);
        expect(await found({ kind: "stream" })).toEqual(["s1"]);
        expect(await found({ kind: "tombstone" })).toEqual([]);
      });

      test("narrows them down by tag and state", async () => {
        expect(await found({ tag: "x" })).toEqual(["t3", "t2", "t1"]);
        expect(await found({ tag: "x", limit: 1 })).toEqual(["t3"]);
        expect(await found({ tag: "y" })).toEqual(["t3"]);
        expect(await found({ tag: "z" })).toEqual([]);
        expect(await found({ open: true })).toEqual(["t3", "t1"]);
        expect(await found({ open: false })).toEqual(["t2"]);
        expect(await found({ open: true, limit: 1 })).toEqual(["t3"]);
        expect(await found({ tag: "x", open: true })).toEqual(["t3", "t1"]);
      });

      test("follows what changes", async () => {
        await done({ type: "update", id: "t3", set: { open: false, owner: "a" } }, { type: "remove", id: "t1" });
        expect(await found({ open: true })).toEqual([]);
        expect(await found({ tag: "x" })).toEqual(["t3", "t2"]);
        await done({ type: "update", id: "t2", set: { open: true } });
        expect(await found({ open: true })).toEqual(["t2"]);
      });

      test("returns those that have expired, the first to expire first", async () => {
        await done(
          { type: "update", id: "t1", set: { expiresAtMs: 7 } },
          { type: "update", id: "t2", set: { expiresAtMs: 5 } },
          { type: "update", id: "t3", set: { expiresAtMs: 8 } },
          { type: "update", id: "s1", set: { expiresAtMs: 1 } },
        );
        expect(await found({ expiredAtMs: 4 })).toEqual([]);
        expect(await found({ expiredAtMs: 7 })).toEqual(["t2", "t1"]);
        expect(await found({ expiredAtMs: 9, limit: 1 })).toEqual(["t2"]);
        expect(await found({ expiredAtMs: 9, open: true })).toEqual(["t1", "t3"]);
        await done({ type: "update", id: "t2", set: { expiresAtMs: null } });
        expect(await found({ expiredAtMs: 9 })).toEqual(["t1", "t3"]);
      });

      test("finds a few among many that do not match", async () => {
        await done(
          ...Array.from({ length: 600 }, (_, i) => insert(`m${i}`, { createdAtMs: 100 + i, tags: ["x"], open: false })),
        );
        expect(await found({ tag: "x", open: true })).toEqual(["t3", "t1"]);
        expect(await found({ tag: "x", open: true, limit: 1 })).toEqual(["t3"]);
      });
    });

    describe("entries", () => {
      test("come in pages, by their number and by their bytes, one at least", async () => {
        await done(insert("t"), append("t", ...Array.from({ length: 40 }, (_, i) => String(i).padStart(10, "0"))));
        const page = async (after: number, count: number, room: number) =>
          (await rows.entries("t", after, { count, bytes: room })).map(({ seq }) => seq);
        expect(await page(0, 3, 1_000)).toEqual([1, 2, 3]);
        expect(await page(3, 3, 1_000)).toEqual([4, 5, 6]);
        expect(await page(0, 100, 25)).toEqual([1, 2]);
        expect(await page(0, 100, 30)).toEqual([1, 2, 3]);
        expect(await page(7, 100, 1)).toEqual([8]);
        expect(await page(38, 100, 1_000)).toEqual([39, 40]);
        expect(await page(40, 100, 1_000)).toEqual([]);
        expect(await page(0, 100, 1_000)).toHaveLength(40);
      });

      test("of uneven size fill a page and no more", async () => {
        const sizes = [1, 1, 1, 5_000, 1, 1, 100, 1, 9_000, 1];
        await done(insert("t"), {
          type: "update",
          id: "t",
          entries: sizes.map((size) => new Uint8Array(size).fill(7)),
        });
        const read: number[] = [];
        for (let after = 0; after < sizes.length; ) {
          const page = await rows.entries("t", after, { count: 100, bytes: 200 });
          const total = page.reduce((sum, entry) => sum + entry.bytes.length, 0);
          expect(page.length === 1 || total <= 200).toBe(true);
          const next = sizes[after + page.length];
          expect(next === undefined || total + next > 200).toBe(true);
          read.push(...page.map((entry) => entry.bytes.length));
          after += page.length;
        }
        expect(read).toEqual(sizes);
      });

      test("keep any bytes", async () => {
        const entries = [new Uint8Array(0), Uint8Array.from({ length: 256 }, (_, i) => i), new Uint8Array(300_000)];
        await done(insert("t"), { type: "update", id: "t", entries });
        expect((await rows.entries("t", 0, all)).map((entry) => Buffer.from(entry.bytes))).toEqual(
          entries.map((entry) => Buffer.from(entry)),
        );
      });
    });

    describe("a wait for a change", () => {
      const changes: [string, Op][] = [
        ["new entries", append("t", "a")],
        ["another owner", { type: "update", id: "t", set: { owner: "b" } }],
        ["its removal", { type: "remove", id: "t" }],
        ["its return", insert("u")],
      ];
      test.each(changes)("ends with %s", async (_, op) => {
        await done(insert("t"));
        const id = op.type === "insert" ? op.row.id : op.id;
        const woken = rows.changed(id, never);
        await done(op);
        await expect(woken).resolves.toBeUndefined();
      });

      test("ends with the sweep that removes the row", async () => {
        await done(insert("t", { expiresAtMs: 5 }));
        const woken = rows.changed("t", never);
        await rows.sweep(5, ["turn"]);
        await expect(woken).resolves.toBeUndefined();
      });

      test("rejects with the signal's reason", async () => {
        const gone = new AbortController();
        const reason = new Error("the reader went away");
        const waiting = rows.changed("t", gone.signal);
        gone.abort(reason);
        await expect(waiting).rejects.toBe(reason);
        await expect(rows.changed("t", gone.signal)).rejects.toBe(reason);
      });

      test("ends when the rows are closed", async () => {
        const other = await harness.open();
        const woken = other.changed("t", never);
        await other.close();
        await woken;
        await expect(other.get("t")).rejects.toMatchObject({ code: "degraded" });
        await expect(other.commit([insert("t")], false)).rejects.toMatchObject({ code: "degraded" });
      });
    });

    describe("a removal", () => {
      test("takes the row, its head, its tags and its entries", async () => {
        await done(insert("t", { tags: ["x", "key:k"] }), append("t", "a", "b"));
        await done({ type: "remove", id: "t", guard: { last: 2 } });
        expect(await rows.get("t", true)).toBeUndefined();
        expect(await rows.entries("t", 0, all)).toEqual([]);
        expect(await rows.find({ kind: "turn", tag: "x", limit: 5 })).toEqual([]);
        await done(insert("t", { tags: ["x", "key:k"] }));
        expect(await rows.entries("t", 0, all)).toEqual([]);
        await done(append("t", "new"));
        expect(textOf(await rows.entries("t", 0, all))).toEqual(["new"]);
      });

      test("of a row that is gone is done, unless it has a guard", async () => {
        await done({ type: "remove", id: "t" });
        const guarded: Op = { type: "remove", id: "t", guard: { epoch: 1 } };
        expect(await rows.commit([guarded], false)).toEqual({ type: "refused", at: 0, by: undefined });
      });

      test("is refused by a row with another epoch", async () => {
        await done(insert("t"));
        const guarded: Op = { type: "remove", id: "t", guard: { epoch: 2 } };
        expect(await rows.commit([guarded], false)).toEqual({ type: "refused", at: 0, by: rowFake("t") });
        expect(await rows.get("t")).toEqual(rowFake("t"));
      });
    });

    describe("a sweep", () => {
      test("removes rows of its kinds that have expired, and no others", async () => {
        await done(
          insert("ended", { expiresAtMs: 5, tags: ["key:k"] }),
          insert("later", { expiresAtMs: 6 }),
          insert("running"),
          insert("tomb", { kind: "tombstone", expiresAtMs: 4 }),
          insert("stream", { kind: "stream", expiresAtMs: 1 }),
          append("ended", "a"),
        );
        expect(await rows.sweep(5, ["turn", "stream"])).toBe(2);
        const left = await Promise.all(["ended", "later", "running", "tomb", "stream"].map((id) => rows.get(id)));
        expect(left.map((row) => row?.id)).toEqual([undefined, "later", "running", "tomb", undefined]);
        expect(await rows.entries("ended", 0, all)).toEqual([]);
        await done(
          { type: "update", id: "later", set: { expiresAtMs: null } },
          { type: "update", id: "running", set: { expiresAtMs: 3 } },
        );
        expect(await rows.sweep(1_000, ["turn"])).toBe(1);
        expect(await rows.get("later")).toBeDefined();
        expect(await rows.sweep(1_000, ["turn"])).toBe(0);
        await done(insert("again", { tags: ["key:k"] }));
      });

      test("takes a part at a time, so that running turns write in between", async () => {
        await done(...Array.from({ length: 150 }, (_, i) => insert(`t${i}`, { expiresAtMs: 1 })), insert("running"));
        const swept: number[] = [];
        do swept.push(await rows.sweep(1, ["turn"]));
        while (swept.at(-1) !== 0);
        expect(swept).toEqual([64, 64, 22, 0]);
        expect(await rows.find({ kind: "turn", limit: 5 })).toEqual([rowFake("running")]);
      });
    });

    test.skipIf(!abilities.survivesRestart)("keep everything when they are opened again", async () => {
      const row = rowFake("t", { tags: ["key:k"], meta: { a: 1 } });
      await done({ type: "insert", row, head: bytes("h") }, append("t", "a"));
      await rows.close();
      rows = await harness.open();
      expect(await rows.get("t", true)).toEqual({ ...row, last: 1, head: bytes("h") });
      expect(textOf(await rows.entries("t", 0, all))).toEqual(["a"]);
    });

    test("do what a map would do, for any operations at one of two connections", async () => {
      const asModel = fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 25 }), async (steps) => {
          const own = await makeHarness();
          const first = await own.open();
          const handles = [first, abilities.survivesRestart ? await own.open() : first] as const;
          try {
            await expectAsModel(handles, steps);
          } finally {
            for (const handle of new Set(handles)) await handle.close();
            await own.dispose();
          }
        }),
        { numRuns: 25 },
      );
      await expect(asModel).resolves.toBeUndefined();
    });

    describe.skipIf(!abilities.survivesRestart)("shared by two connections", () => {
      let other: Rows;
      beforeEach(async () => {
        other = await harness.open();
      });
      afterEach(() => other.close());

      test("are the same rows", async () => {
        await done(insert("t", { tags: ["x", "key:k"] }), append("t", "a"));
        expect(await other.get("t")).toEqual(await rows.get("t"));
        expect(await other.find({ kind: "turn", tag: "x", limit: 5 })).toHaveLength(1);
        expect(textOf(await other.entries("t", 0, all))).toEqual(["a"]);
        expect(await other.commit([insert("u", { tags: ["key:k"] })], true)).toMatchObject({
          type: "refused",
          by: { id: "t" },
        });
      });

      test("give a row to one of two that claim it at once", async () => {
        await done(insert("t"));
        const claim = (by: Rows, owner: string) =>
          by.commit([{ type: "update", id: "t", guard: { epoch: 1, open: true }, claim: true, set: { owner } }], true);
        const outcomes = await Promise.all([claim(rows, "b"), claim(other, "c")]);
        expect(outcomes.map(({ type }) => type).sort()).toEqual(["done", "refused"]);
        expect((await rows.get("t"))?.epoch).toBe(2);
      });

      test.skipIf(!abilities.isShared)("wake a caller at one when the other writes", async () => {
        await done(insert("t"));
        for (let last = 0; last < 3; last++) {
          const woken = other.changed("t", never);
          expect((await other.get("t"))?.last).toBe(last);
          await done(append("t", "a"));
          await woken;
        }
      });

      test("keep each commit of a process that is killed, and let others go on", async () => {
        const { elsewhere } = harness;
        if (elsewhere === undefined) throw new Error("the harness of shared rows opens them in another process");
        await done(insert("t"), insert("u"));
        const program = `
          const rows = ${elsewhere};
          const say = (n) => new Promise((said) => process.stdout.write(n + "\\n", said));
          for (let n = 1; ; n++) {
            const ops = ["t", "u"].map((id) => ({ type: "update", id, guard: { last: n - 1 }, entries: [Buffer.from(String(n))] }));
            const outcome = await rows.commit(ops, false);
            if (outcome.type !== "done") throw new Error(JSON.stringify(outcome));
            await say(n);
          }`;
        const child = spawn(process.execPath, ["--input-type=module", "--eval", program], {
          stdio: ["ignore", "pipe", "inherit"],
        });
        let said = "";
        child.stdout.on("data", (chunk) => {
          said += String(chunk);
          if (said.includes("\n20\n")) child.kill("SIGKILL");
        });
        await once(child, "close");
        const told = Number(said.trimEnd().split("\n").at(-1));
        const { last = 0 } = (await rows.get("t")) ?? {};
        expect(last).toBeGreaterThanOrEqual(told);
        expect((await rows.get("u"))?.last).toBe(last);
        const numbers = Array.from({ length: last }, (_, i) => String(i + 1));
        for (const id of ["t", "u"]) expect(textOf(await other.entries(id, 0, all))).toEqual(numbers);
        await done({ type: "update", id: "t", guard: { last }, claim: true, entries: [bytes("next")] });
      });
    });
  });
}

type Step =
  | { readonly do: "commit"; readonly at: 0 | 1; readonly ops: readonly Op[]; readonly flush: boolean }
  | { readonly do: "sweep"; readonly at: 0 | 1; readonly nowMs: number; readonly kinds: readonly Row["kind"][] };

const kind = fc.constantFrom<Row["kind"][]>("turn", "stream", "tombstone");
const id = fc.constantFrom("a", "b", "c");
const owner = fc.constantFrom("one", "two");
const expiry = fc.integer({ min: 1, max: 4 });
const entry = fc.uint8Array({ maxLength: 6 });
const name = fc.constantFrom("x", "y");
const metaValue = fc.oneof(fc.boolean(), fc.integer(), fc.string(), fc.constant([]), fc.constant({ deep: [1] }));
const optional = { requiredKeys: [] };
const guard = fc.record(
  { epoch: fc.constantFrom(1, 2), last: fc.integer({ min: 0, max: 3 }), open: fc.boolean() },
  optional,
);

const op: fc.Arbitrary<Op> = fc.oneof(
  fc.record({
    type: fc.constant("insert"),
    row: fc.record({
      id,
      kind,
      createdAtMs: fc.constant(0), // replaced: no two rows are of one age
      epoch: fc.constant(1),
      last: fc.constant(0),
      open: fc.boolean(),
      owner,
      expiresAtMs: fc.option(expiry, { nil: undefined }),
      tags: fc.uniqueArray(fc.constantFrom("key:1", "key:2", "body:1", "body:2"), { maxLength: 3 }),
      meta: fc.dictionary(name, metaValue),
      proof: entry,
    }),
    head: entry,
  }),
  fc
    .record(
      {
        type: fc.constant("update"),
        id,
        guard,
        claim: fc.constant(true),
        set: fc.record(
          {
            owner,
            open: fc.boolean(),
            expiresAtMs: fc.option(expiry),
            meta: fc.dictionary(name, fc.option(metaValue)),
            proof: entry,
          },
          optional,
        ),
        entries: fc.array(entry, { maxLength: 3 }),
      },
      { requiredKeys: ["type", "id"] },
    )
    .map((update) => update as Op), // `exactOptionalPropertyTypes` and fast-check's records do not agree
  fc.record({ type: fc.constant("remove"), id, guard }, { requiredKeys: ["type", "id"] }).map((remove) => remove as Op), // as above
);

const at = fc.constantFrom<(0 | 1)[]>(0, 1);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 9,
    arbitrary: fc.record({
      do: fc.constant("commit"),
      at,
      ops: fc.array(op, { minLength: 1, maxLength: 3 }),
      flush: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("sweep"), at, nowMs: expiry, kinds: fc.uniqueArray(kind) }) },
);

async function expectAsModel(handles: readonly [Rows, Rows], steps: readonly Step[]): Promise<void> {
  const model = new RowsModel();
  let createdAtMs = 0;
  const age = (op: Op): Op => (op.type === "insert" ? { ...op, row: { ...op.row, createdAtMs: ++createdAtMs } } : op);
  for (const step of steps) {
    const handle = handles[step.at];
    const ops = step.do === "commit" ? step.ops.map(age) : [];
    const [found, expected] =
      step.do === "commit"
        ? [await handle.commit(ops, step.flush), model.commit(ops)]
        : [await handle.sweep(step.nowMs, step.kinds), model.sweep(step.nowMs, step.kinds)];
    expect(found).toEqual(expected);
    await expectSame(handles[step.at === 0 ? 1 : 0], model);
  }
}

async function expectSame(rows: Rows, model: RowsModel): Promise<void> {
  for (const id of ["a", "b", "c"]) {
    const row = model.get(id);
    expect(await rows.get(id, true)).toEqual(row && { ...row, head: model.head(id) });
    expect(await rows.entries(id, 0, all)).toEqual(model.entries(id));
  }
  for (const kind of ["turn", "stream", "tombstone"] as const)
    for (const narrower of [{}, { tag: "body:1" }, { tag: "key:1" }, { open: true }, { open: false }]) {
      const filter = { kind, limit: 2, ...narrower };
      expect(await rows.find(filter)).toEqual(model.find(filter));
    }
}
