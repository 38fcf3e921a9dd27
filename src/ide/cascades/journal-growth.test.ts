import { statSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { openBelow } from "../../../test/support/open-files.ts";
import { temporaryFolder } from "../../../test/support/temporary.ts";
import type { CascadeId } from "../../base/ids.ts";
import { until } from "../../base/wait.fake.ts";
import { openCascadeJournal } from "./cascade-journal.ts";

const id = (name: string) => name as CascadeId;

function temporaryFile(): string {
  const folder = temporaryFolder();
  onTestFinished(() => until(() => openBelow(folder).length === 0));
  return join(folder, "cascades.jsonl");
}

test("a journal that has doubled holds what is still true, and two processes that write keep their lines", async () => {
  const file = temporaryFile();
  const options = { leastBytes: 4_000, most: 20 };
  const [one, other] = [openCascadeJournal(file, options), openCascadeJournal(file, options)];
  await one.note({ cascadeId: id("left"), atMs: 1, owner: "a" });
  await one.noteAsked(id("left"), { model: "m", client: "c" });
  await one.noteKept(id("left"), 99);
  await other.left(); // reads on from here
  for (let turn = 2; turn < 500; turn++) {
    const [journal, name] = turn % 2 === 0 ? ([one, `acp:${turn}`] as const) : ([other, `cascade-${turn}`] as const);
    await Promise.all([
      journal.note({ cascadeId: id(name), atMs: turn, owner: "a" }).then(() => journal.noteArchived(id(name))),
      one.noteAsked(id(name), { model: "m", client: undefined }),
    ]);
  }
  expect(statSync(file).size).toBeLessThan(12_000);
  const known = [{ cascadeId: "left", owner: "a", untilMs: 99 }];
  for (const journal of [one, other, openCascadeJournal(file)]) expect(await journal.left()).toMatchObject(known);
  const entries = await openCascadeJournal(file).entries();
  expect(entries[0]).toEqual({ cascadeId: "left", atMs: 1, model: "m", client: "c" });
  expect(entries.map(({ cascadeId }) => cascadeId)).toContain("cascade-499");
  expect(entries.length).toBeLessThan(150);
});

test("of a long journal the newest lines are read, at each look", async () => {
  const file = temporaryFile();
  const lineBytes = JSON.stringify({ cascadeId: "cascade-10", atMs: 10, owner: "a" }).length + 2;
  const journal = openCascadeJournal(file, { leftBytes: 5 * lineBytes });
  const note = (turn: number) => journal.note({ cascadeId: id(`cascade-${turn}`), atMs: turn, owner: "a" });
  const left = async () => (await journal.left()).map(({ atMs }) => atMs);
  for (let turn = 10; turn < 20; turn++) await note(turn);
  expect(await left()).toEqual([15, 16, 17, 18, 19]);
  await note(20);
  expect(await left()).toEqual([15, 16, 17, 18, 19, 20]); // what was read stays known
  for (let turn = 21; turn < 30; turn++) await note(turn);
  expect(await left()).toEqual([15, 16, 17, 18, 19, 20, 25, 26, 27, 28, 29]);
});
