import { appendFile, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { modeOf } from "../../../test/support/file-mode.ts";
import { openBelow } from "../../../test/support/open-files.ts";
import { temporaryFolder } from "../../../test/support/temporary.ts";
import type { CascadeId } from "../../base/ids.ts";
import { until } from "../../base/wait.fake.ts";
import { codeiumFoldersIn, listCascadeFiles, removeCascadeFile } from "./cascade-files.ts";
import { openCascadeJournal } from "./cascade-journal.ts";

const id = (n: number) => `00000000-0000-4000-8000-${String(n).padStart(12, "0")}` as CascadeId; // any UUID will do

let folder: string;
beforeEach(() => {
  folder = temporaryFolder();
});
afterEach(() => until(() => openBelow(folder).length === 0));

describe("the journal of conversations", () => {
  const file = () => join(folder, "cascades.jsonl");

  it("is empty before anything was noted, and private afterwards", async () => {
    const journal = openCascadeJournal(file());
    expect(await journal.entries()).toEqual([]);
    await journal.note({ cascadeId: id(1), atMs: 5 });
    expect(modeOf(file(), 0o600) & 0o077).toBe(0);
  });

  it("keeps each once, oldest first, without the forgotten, over processes", async () => {
    const [one, two] = [openCascadeJournal(file()), openCascadeJournal(file())];
    await Promise.all([one.note({ cascadeId: id(2), atMs: 20 }), two.note({ cascadeId: id(1), atMs: 10 })]);
    await one.note({ cascadeId: id(3), atMs: 30 });
    await two.note({ cascadeId: id(3), atMs: 99 });
    await two.forget([id(2)]);
    expect(await openCascadeJournal(file()).entries()).toEqual([
      { cascadeId: id(1), atMs: 10 },
      { cascadeId: id(3), atMs: 30 },
    ]);
  });

  it("knows what is left: begun, kept open or in use again, not archived or forgotten since", async () => {
    const journal = openCascadeJournal(file());
    expect(await journal.left()).toEqual([]);
    for (const n of [1, 2, 3, 4, 5]) await journal.note({ cascadeId: id(n), atMs: n, owner: "one" });
    await journal.noteArchived(id(1));
    await journal.forget([id(2)]);
    await journal.noteKept(id(3), 100);
    await journal.noteKept(id(4), 100);
    await journal.noteTaken({ cascadeId: id(4), atMs: 50, owner: "two" });
    const left = [
      { cascadeId: id(3), owner: "one", atMs: 3, untilMs: 100 },
      { cascadeId: id(4), owner: "two", atMs: 50, untilMs: undefined },
      { cascadeId: id(5), owner: "one", atMs: 5, untilMs: undefined },
    ];
    expect((await journal.left()).toSorted((a, b) => a.cascadeId.localeCompare(b.cascadeId))).toEqual(left);
    expect(await openCascadeJournal(file()).left()).toHaveLength(3);
    expect((await journal.entries()).map(({ cascadeId }) => cascadeId)).toEqual([1, 3, 4, 5].map(id));
  });

  it("of an older build lists what it kept open, and nothing else", async () => {
    const lines = [
      { cascadeId: id(1), atMs: 1 },
      { kept: id(2), untilMs: 9 },
      { kept: id(3), untilMs: 9 },
      { taken: id(3) },
    ];
    await writeFile(file(), lines.map((line) => `\n${JSON.stringify(line)}\n`).join(""));
    const left = [{ cascadeId: id(2), owner: undefined, atMs: 9, untilMs: 9 }];
    expect(await openCascadeJournal(file()).left()).toEqual(left);
  });

  it("is read on from the last place, for any writer and any part of a line", async () => {
    const [journal, other] = [openCascadeJournal(file()), openCascadeJournal(file())];
    await other.note({ cascadeId: id(1), atMs: 1, owner: "ö" });
    expect(await journal.left()).toHaveLength(1);
    const [line, half] = [`${JSON.stringify({ cascadeId: id(2), atMs: 2, owner: "ö" })}\n`, 40];
    await appendFile(file(), line.slice(0, half));
    expect(await journal.left()).toHaveLength(1);
    await appendFile(file(), line.slice(half));
    await other.noteArchived(id(1));
    const asked = [journal.left(), journal.left()];
    for (const left of await Promise.all(asked)) expect(left.map(({ cascadeId }) => cascadeId)).toEqual([id(2)]);
  });

  it("is read anew where it became shorter", async () => {
    const journal = openCascadeJournal(file());
    for (const n of [1, 2, 3]) await journal.note({ cascadeId: id(n), atMs: n, owner: "one" });
    expect(await journal.left()).toHaveLength(3);
    await writeFile(file(), `${JSON.stringify({ cascadeId: id(4), atMs: 4, owner: "one" })}\n`); // the same file, cut
    expect((await journal.left()).map(({ cascadeId }) => cascadeId)).toEqual([id(4)]);
  });

  it("survives half a line and foreign lines", async () => {
    const journal = openCascadeJournal(file());
    await journal.note({ cascadeId: id(1), atMs: 10 });
    await appendFile(file(), 'null\n[]\n{"x":1}\n{"cascadeId":"half');
    await journal.note({ cascadeId: id(2), atMs: 20 });
    expect((await journal.entries()).map(({ cascadeId }) => cascadeId)).toEqual([id(1), id(2)]);
  });
});

describe("conversations on disk", () => {
  it("are the files named by an id, and nothing else", async () => {
    const [codeium = ""] = codeiumFoldersIn(folder);
    expect(await listCascadeFiles(codeium)).toEqual([]);
    await mkdir(join(codeium, "cascade"), { recursive: true });
    await writeFile(join(codeium, "cascade", `${id(1)}.pb`), "four");
    for (const other of ["notes.pb", `${id(2)}.pb.tmp`, "..pb"]) await writeFile(join(codeium, "cascade", other), "x");
    const [file, ...more] = await listCascadeFiles(codeium);
    expect(more).toEqual([]);
    expect(file).toMatchObject({ cascadeId: id(1), bytes: 4 });
    if (file === undefined) return;
    await removeCascadeFile(file);
    await removeCascadeFile(file);
    expect(await listCascadeFiles(codeium)).toEqual([]);
  });
});
