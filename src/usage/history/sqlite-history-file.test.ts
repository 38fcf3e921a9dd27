import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { FakeClock } from "../../base/clock.fake.ts";
import { openFileLog } from "../../log/memory-log.fake.ts";
import { inspectLogFile } from "../../log/sqlite/open-file.ts";
import { turnFake } from "./history.fake.ts";
import type { UsageHistory } from "./history.ts";
import { now, openedHistory } from "./opened-history.fake.ts";
import { openHistory } from "./sqlite-history.ts";

let folder: string;
let file: string;
let history: UsageHistory;

beforeEach(() => {
  ({ folder, file, history } = openedHistory());
});

afterEach(() => history.close());

describe("a store that cannot be used", () => {
  it("from another version is an error that says so, and nothing in it changes", () => {
    const other = new DatabaseSync(file);
    other.exec("INSERT INTO usage_schema (version) VALUES (99)");
    expect(() => openHistory({ file })).toThrow(
      expect.objectContaining({
        code: "degraded",
        message: expect.stringContaining("another version of Millrace (its version 99"),
      }),
    );
    expect(other.prepare("SELECT max(version) AS version FROM usage_schema").get()).toEqual({ version: 99 });
    other.close();
  });

  it("is the event log's too, whichever of the two comes first", async () => {
    history.addTurn(turnFake({ turnId: "turn_1", endedAtMs: now }));
    expect(await inspectLogFile(file)).toMatchObject({ kind: "sound", turns: 0 });
    const onSetAside = () => expect.unreachable();
    const store = await openFileLog({ path: file, clock: new FakeClock(), onSetAside });
    expect(store.degradedBy).toBeUndefined();
    await store.close();
    expect(await inspectLogFile(file)).toMatchObject({ kind: "sound", turns: 0 });
    history.close();
    history = openHistory({ file });
    expect(history.turn("turn_1")).toBeDefined();
  });

  it("of another program is left unchanged", () => {
    const foreign = join(folder, "notes.db");
    const other = new DatabaseSync(foreign);
    other.exec("CREATE TABLE notes (text TEXT)");
    expect(() => openHistory({ file: foreign })).toThrow(
      expect.objectContaining({ code: "degraded", message: expect.stringContaining("belongs to another program") }),
    );
    expect(other.prepare("SELECT name FROM sqlite_schema").all()).toEqual([{ name: "notes" }]);
    other.close();
  });

  it("that is no database is degraded, with the cause kept", () => {
    expect(() => openHistory({ file: folder })).toThrow(
      expect.objectContaining({ code: "degraded", hint: expect.stringContaining("repair the file") }),
    );
  });

  it("shared with another connection that writes is waited for", () => {
    const second = openHistory({ file });
    second.addTurn(turnFake({ turnId: "turn_1", endedAtMs: now }));
    history.addTurn(turnFake({ turnId: "turn_2", endedAtMs: now }));
    expect(second.spend({ sinceMs: 0, untilMs: now + 1, by: "model", timeZone: "UTC" })).toMatchObject([{ turns: 2 }]);
    second.close();
  });
});
