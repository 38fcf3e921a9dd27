import { copyFileSync, mkdtempSync, readdirSync, renameSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { digestOfKey, KeyJournal } from "./key-journal.ts";

const keyed = (at: number) => ({ digest: digestOfKey("caller", `key ${at}`), turnId: `turn_${at}`, createdAtMs: at });

function journalOf(turns: number) {
  const folder = mkdtempSync(join(tmpdir(), "millrace-journal-"));
  const path = join(folder, "turns.db");
  const journal = new KeyJournal(path);
  journal.add(Array.from({ length: turns }, (_, at) => keyed(at)));
  return { journal, folder, file: `${path}-keys` };
}

const isEven = (turnId: string) => Number(turnId.slice("turn_".length)) % 2 === 0;

describe("a journal that is made shorter", () => {
  test("keeps the keys of turns that are there, and those that are added meanwhile", async () => {
    const { journal, folder } = journalOf(2_500);
    expect(journal.isLong).toBe(true);
    const compacting = journal.compact(isEven);
    journal.add([keyed(5_000)]);
    await nextTurn();
    journal.removed("turn_4");
    await compacting;
    const ids = journal.read().map(({ turnId }) => turnId);
    expect(ids).toHaveLength(1_250); // with one more, and one less
    expect(ids).toContain("turn_5000");
    expect(ids).not.toContain("turn_4");
    expect(ids).not.toContain("turn_3");
    expect(journal.isLong).toBe(false);
    expect(readdirSync(folder)).toHaveLength(1);
  });

  test("lets other work run in between", async () => {
    const { journal } = journalOf(20_000);
    const over = new AbortController();
    const compacting = journal.compact(isEven).finally(() => over.abort());
    let turns = 0;
    for (; !over.signal.aborted; turns++) await nextTurn();
    await compacting;
    expect(turns).toBeGreaterThan(25); // one for each 500 that are kept or not
    expect(journal.read()).toHaveLength(10_000);
  });

  test("stays as it is where another process was faster", async () => {
    const { journal, folder, file } = journalOf(2_500);
    const compacting = journal.compact(isEven);
    copyFileSync(file, `${file}.theirs`);
    await nextTurn();
    renameSync(`${file}.theirs`, file);
    await compacting;
    expect(journal.read()).toHaveLength(2_500);
    expect(readdirSync(folder)).toHaveLength(1);
  });
});
