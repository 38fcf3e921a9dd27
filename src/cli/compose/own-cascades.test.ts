import { mkdirSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { temporaryFolder } from "../../../test/support/temporary.ts";
import { FakeClock } from "../../base/clock.fake.ts";
import type { CascadeId } from "../../base/ids.ts";
import { until } from "../../base/wait.fake.ts";
import { type CascadeJournal, openCascadeJournal } from "../../ide/cascades/cascade-journal.ts";
import { FakeBackend, fakeCascade } from "../../turns/backend.fake.ts";
import { asking, FakeReader, fakeTurns } from "../../turns/turns.fake.ts";
import { readCascades, trajectoryNotes } from "./own-cascades.ts";

const signal = new AbortController().signal;
const idleMs = 60_000;

function journalFile(): string {
  const folder = temporaryFolder();
  return join(folder, "cascades.jsonl");
}

/** A gateway's turns over a journal, with a clock that processes share. */
function process(owner: string, journal: CascadeJournal, clock: FakeClock, backend = new FakeBackend()) {
  const fake = fakeTurns({
    clock,
    backends: backend,
    owner,
    trajectoryNotes: trajectoryNotes(journal, owner, clock),
    continuity: { idleMs },
  });
  onTestFinished(() => fake.turns.stop());
  const answer = async () => {
    const { turnId } = await fake.turns.start(asking(), signal);
    await until(async () => backend.answers.length > 0);
    backend.last.finish("Hi.");
    await new FakeReader(fake.turns, turnId).done;
  };
  return { ...fake, backend, answer };
}

test("what a process kept open when it died is archived by the next one, when its time has passed", async () => {
  const [file, clock] = [journalFile(), new FakeClock()];
  const journal = openCascadeJournal(file);
  const untilMs = clock.now() + idleMs;
  await journal.note({ cascadeId: fakeCascade, atMs: clock.now(), owner: "home/one" });
  await process("home/one", journal, clock).answer(); // and then it is killed: nothing stops it in good order
  await until(async () => (await journal.left()).some((each) => each.untilMs === untilMs));

  const later = new FakeClock(untilMs - 5_000);
  const another = openCascadeJournal(file);
  const { backend } = process("home/two", another, later);
  await until(async () => later.sleeping === 2); // the sweep, and what was left behind
  await later.advance(4_999);
  expect(backend.archived).toEqual([]);
  await later.advance(1);
  await until(async () => (await another.left()).length === 0);
  expect(backend.archived).toEqual([fakeCascade]);
});

test("notes of a conversation stand in the order in which they were made, also those of its backend", async () => {
  const journal = openCascadeJournal(journalFile());
  const notes = trajectoryNotes(journal, "me", new FakeClock());
  await journal.note({ cascadeId: fakeCascade, atMs: 1, owner: "me" });
  notes.taken(fakeCascade);
  await Promise.all([notes.kept(fakeCascade, 5), journal.noteArchived(fakeCascade)]);
  expect(await notes.left()).toEqual([]);
});

test("the journal says which model a conversation asked and for which client, and another process reads it", async () => {
  const [file, clock] = [journalFile(), new FakeClock()];
  const journal = openCascadeJournal(file);
  await journal.note({ cascadeId: fakeCascade, atMs: 1, owner: "home/one" });
  await process("home/one", journal, clock).answer();
  const { request, client } = asking();
  await until(async () => (await openCascadeJournal(file).entries())[0]?.model !== undefined);
  expect(await openCascadeJournal(file).entries()).toEqual([
    { cascadeId: fakeCascade, atMs: 1, model: request.model, client },
  ]);
});

test("conversations on disk are listed by their last use, with model and client", async () => {
  const home = dirname(journalFile());
  const folder = join(home, ".codeium/windsurf/cascade");
  mkdirSync(folder, { recursive: true });
  const journal = openCascadeJournal(join(home, "cascades.jsonl"));
  const ids = [1, 2, 3].map((n) => `00000000-0000-4000-8000-00000000000${n}` as CascadeId); // any UUIDs
  for (const [at, cascadeId] of ids.entries()) {
    const path = join(folder, `${cascadeId}.pb`);
    writeFileSync(path, "x");
    utimesSync(path, 100 - at, 100 - at); // the first one begun was used last
    await journal.note({ cascadeId, atMs: at });
    await journal.noteAsked(cascadeId, { model: "swe-2", client: at === 1 ? undefined : `client/${at}` });
  }
  await journal.noteAsked(ids[2] as CascadeId, { model: "gpt-5", client: "later/1" });
  const { own } = await readCascades(journal, [], [home]);
  expect(own.map(({ cascadeId, model, client }) => [cascadeId, model, client])).toEqual([
    [ids[2], "gpt-5", "later/1"],
    [ids[1], "swe-2", undefined],
    [ids[0], "swe-2", "client/0"],
  ]);
});
