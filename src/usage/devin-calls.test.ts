import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { temporaryFolder } from "../../test/support/temporary.ts";
import { DevinCalls } from "./devin-calls.ts";

const day = 86_400_000;
const nowMs = Date.parse("2026-11-20T12:00:00Z");
const week = { sinceMs: nowMs - 7 * day, untilMs: nowMs, timeZone: "UTC" } as const;

let folder: string;
let file: string;
let database: DatabaseSync;

beforeEach(() => {
  folder = temporaryFolder();
  file = join(folder, "sessions.db");
  database = new DatabaseSync(file);
  // as CLI 3000.11 makes them, without columns that are not read
  database.exec(`
    PRAGMA journal_mode = WAL;
    CREATE TABLE sessions (id TEXT PRIMARY KEY, working_directory TEXT, model TEXT);
    CREATE TABLE message_nodes (row_id INTEGER PRIMARY KEY, session_id TEXT, node_id INTEGER, chat_message TEXT, created_at INTEGER);`);
});

afterEach(() => {
  if (database.isOpen) database.close();
});

function session(id: string, workingDirectory: string | null): void {
  database.prepare("INSERT INTO sessions VALUES (?, ?, 'adaptive')").run(id, workingDirectory);
}

interface StoredCall {
  readonly id?: string;
  readonly atMs?: number;
  readonly model?: string;
  readonly metrics?: object;
}

function call(sessionId: string, { id, atMs = nowMs - day, model = "claude-opus-4-5", ...rest }: StoredCall): void {
  const { metrics = { input_tokens: 100, output_tokens: 10, cache_read_tokens: 1000, cache_creation_tokens: 5 } } =
    rest;
  const metadata = { created_at: new Date(atMs).toISOString(), generation_model: model, metrics };
  add(sessionId, JSON.stringify({ ...(id === undefined ? {} : { message_id: id }), role: "assistant", metadata }));
}

function add(sessionId: string, message: string, storedAtMs = nowMs): void {
  database
    .prepare("INSERT INTO message_nodes (session_id, node_id, chat_message, created_at) VALUES (?, 0, ?, ?)")
    .run(sessionId, message, storedAtMs / 1000);
}

const calls = (path = file, mostSeen?: number) => new DevinCalls(path, "millrace-empty", mostSeen);

describe("what Devin used without Millrace", () => {
  it("is summed by model, project or day, the largest first, without sessions that Millrace made", async () => {
    session("a", "/home/ada/engine");
    session("b", "C:\\Users\\ada\\loom");
    session("ours", "/home/ada/.millrace/agents/devin/millrace-empty");
    call("a", { id: "1", atMs: nowMs - day });
    call("a", { id: "2", atMs: nowMs - 2 * day, model: "swe-1-7", metrics: { input_tokens: 7 } });
    call("b", { id: "3", atMs: nowMs - day });
    call("ours", { id: "4" });
    call("a", { id: "5", atMs: nowMs - 8 * day });
    const records = calls();
    const opus = { calls: 2, input_tokens: 200, output_tokens: 20, cache_read_tokens: 2000, cache_creation_tokens: 10 };
    const swe = { calls: 1, input_tokens: 7, output_tokens: 0, cache_read_tokens: 0, cache_creation_tokens: 0 };
    expect(await records.elsewhere({ ...week, by: "model" })).toEqual({
      rows: [
        { key: "claude-opus-4-5", ...opus },
        { key: "swe-1-7", ...swe },
      ],
    });
    expect(await records.elsewhere({ ...week, by: "project" })).toMatchObject({
      rows: [
        { key: "/home/ada/engine", calls: 2 },
        { key: "C:\\Users\\ada\\loom", calls: 1 },
      ],
    });
    expect(await records.elsewhere({ ...week, by: "day" })).toMatchObject({
      rows: [
        { key: "2026-11-18", calls: 1 },
        { key: "2026-11-19", calls: 2 },
      ],
    });
    expect(await records.elsewhere({ ...week, by: "client" })).toBeUndefined();
  });

  it("counts a message once that branches, forks and compactions store again", async () => {
    session("a", "/p");
    session("fork", "/p");
    for (const id of ["a", "a", "fork"]) call(id, { id: "1" });
    call("fork", { id: "2" });
    expect(await calls().elsewhere({ ...week, by: "model" })).toMatchObject({ rows: [{ calls: 2 }] });
  });

  it("reads what came since the last time, and begins anew in another file", async () => {
    session("a", "/p");
    for (let i = 0; i < 100; i++) call("a", { id: `${i}` });
    const records = calls();
    const counted = async () => {
      const found = await records.elsewhere({ ...week, by: "model" });
      return found !== undefined && "rows" in found ? found.rows.map((row) => row.calls) : found;
    };
    expect(await counted()).toEqual([100]);
    call("a", { id: "more" });
    expect(await counted()).toEqual([101]);
    database.exec("DELETE FROM message_nodes");
    call("a", { id: "new" });
    expect(await counted()).toEqual([102]); // what was used stays used
  });

  it("takes messages as they are: without tokens, id, session or time, and no JSON", async () => {
    call("unknown", { model: "" });
    call("unknown", { metrics: { input_tokens: -3, output_tokens: "7" } });
    add("unknown", "no JSON");
    add("unknown", JSON.stringify({ role: "user", content: "hi" }));
    add("unknown", JSON.stringify({ role: "assistant", metadata: { metrics: { output_tokens: 3 } } }), nowMs - day);
    add("unknown", "null");
    expect(await calls().elsewhere({ ...week, by: "project" })).toMatchObject({
      rows: [{ key: null, calls: 3, output_tokens: 13 }],
    });
  });

  it("is unknown where there is no file, and a file that is no database gives its reason", async () => {
    expect(await calls(join(folder, "none.db")).elsewhere({ ...week, by: "model" })).toBeUndefined();
    database.close();
    writeFileSync(file, "not a database, but a text of some length that is none");
    expect(await calls().elsewhere({ ...week, by: "model" })).toMatchObject({
      problem: expect.stringContaining("not a database"),
    });
  });
});

it("knows the newest messages again", async () => {
  session("a", "/home/ada/engine");
  const records = calls(file, 2);
  for (const id of ["1", "2", "3"]) call("a", { id });
  for (const id of ["2", "3"]) call("a", { id });
  expect(await records.elsewhere({ ...week, by: "model" })).toMatchObject({ rows: [{ calls: 3 }] });
  call("a", { id: "1" }); // stored again after two others
  expect(await records.elsewhere({ ...week, by: "model" })).toMatchObject({ rows: [{ calls: 4 }] });
});
