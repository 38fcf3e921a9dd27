import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { DevinCalls } from "./devin-calls.ts";

const day = 86_400_000;
const nowMs = Date.parse("2026-11-20T12:00:00Z");
const week = { sinceMs: nowMs - 7 * day, untilMs: nowMs, timeZone: "UTC" } as const;

let folder: string;
let file: string;
let database: DatabaseSync;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "millrace-devin-"));
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
  rmSync(folder, { recursive: true, force: true });
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

const calls = (path = file, most?: ConstructorParameters<typeof DevinCalls>[3]) =>
  new DevinCalls(path, "millrace-empty", (session) => `acp:devin:${session}`, most);

describe("Millrace's own sessions", () => {
  const own = "/home/ada/.millrace/agents/devin/millrace-empty";
  const spend = (session: string, promptTokens: number, completionTokens: number) => ({
    cascadeId: `acp:devin:${session}`,
    lastEndedAtMs: nowMs - day,
    promptTokens,
    completionTokens,
  });
  const ownBy = async (...sessions: readonly ReturnType<typeof spend>[]) => {
    const found = await calls().elsewhere({ ...week, by: "day" }, (ids) =>
      sessions.filter((one) => ids.includes(one.cascadeId)),
    );
    return found !== undefined && "rows" in found ? found.own : found;
  };

  it("are compared where both records have them, as far as their turns have ended", async () => {
    for (const id of ["both", "devin-only", "older"]) session(id, own);
    call("both", { id: "1", atMs: nowMs - day - 1 });
    call("both", { id: "2", atMs: nowMs - day });
    call("both", { id: "3", atMs: nowMs - 1 }); // of a turn that runs
    call("devin-only", { id: "4" });
    call("older", { id: "5", atMs: nowMs - 8 * day });
    call("older", { id: "6", atMs: nowMs - 2 * day });
    const counted = [spend("both", 2210, 20), spend("older", 1, 1), spend("millrace-only", 1, 1)];
    expect(await ownBy(...counted)).toEqual({
      sessions: 1,
      millrace: { promptTokens: 2210, completionTokens: 20 },
      devin: { calls: 2, inputTokens: 200, cacheReadTokens: 2000, cacheCreationTokens: 10, outputTokens: 20 },
      differs: false,
    });
    expect(await ownBy(spend("millrace-only", 1, 1))).toBeUndefined();
  });

  it.each([
    [100, 10, false], // a model whose input has the cached tokens
    [1215, 11, false],
    [89, 10, true],
    [1216, 10, true],
    [1105, 8, true],
    [1105, 12, true],
  ])("with %d prompt and %d completion tokens differ by more than a tenth: %s", async (prompt, completion, differs) => {
    session("both", own);
    call("both", { id: "1" });
    expect(await ownBy(spend("both", prompt, completion))).toMatchObject({ differs });
  });
});

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
    const opus = { calls: 2, inputTokens: 200, outputTokens: 20, cacheReadTokens: 2000, cacheCreationTokens: 10 };
    const swe = { calls: 1, inputTokens: 7, outputTokens: 0, cacheReadTokens: 0, cacheCreationTokens: 0 };
    expect(await records.elsewhere({ ...week, by: "model" }, () => [])).toEqual({
      rows: [
        { key: "claude-opus-4-5", ...opus },
        { key: "swe-1-7", ...swe },
      ],
    });
    expect(await records.elsewhere({ ...week, by: "project" }, () => [])).toMatchObject({
      rows: [
        { key: "/home/ada/engine", calls: 2 },
        { key: "C:\\Users\\ada\\loom", calls: 1 },
      ],
    });
    expect(await records.elsewhere({ ...week, by: "day" }, () => [])).toMatchObject({
      rows: [
        { key: "2026-11-18", calls: 1 },
        { key: "2026-11-19", calls: 2 },
      ],
    });
    expect(await records.elsewhere({ ...week, by: "client" }, () => [])).toBeUndefined();
  });

  it("counts a message once that branches, forks and compactions store again", async () => {
    session("a", "/p");
    session("fork", "/p");
    for (const id of ["a", "a", "fork"]) call(id, { id: "1" });
    call("fork", { id: "2" });
    expect(await calls().elsewhere({ ...week, by: "model" }, () => [])).toMatchObject({ rows: [{ calls: 2 }] });
  });

  it("reads what came since the last time, and begins anew in another file", async () => {
    session("a", "/p");
    for (let i = 0; i < 100; i++) call("a", { id: `${i}` });
    const records = calls();
    const counted = async () => {
      const found = await records.elsewhere({ ...week, by: "model" }, () => []);
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
    expect(await calls().elsewhere({ ...week, by: "project" }, () => [])).toMatchObject({
      rows: [{ key: undefined, calls: 3, outputTokens: 13 }],
    });
  });

  it("is unknown where there is no file, and a file that is no database gives its reason", async () => {
    expect(await calls(join(folder, "none.db")).elsewhere({ ...week, by: "model" }, () => [])).toBeUndefined();
    database.close();
    writeFileSync(file, "not a database, but a text of some length that is none");
    expect(await calls().elsewhere({ ...week, by: "model" }, () => [])).toMatchObject({
      problem: expect.stringContaining("not a database"),
    });
  });
});

it("knows the newest messages again, and compares the newest sessions of Millrace", async () => {
  session("a", "/home/ada/engine");
  for (const id of ["own-1", "own-2", "own-3"]) session(id, "/home/ada/.millrace/agents/devin/millrace-empty");
  const records = calls(file, { seen: 2, own: 2 });
  const asked: string[] = [];
  const counted = async () => {
    const found = await records.elsewhere(
      { ...week, by: "model" },
      (ids) => (asked.splice(0, asked.length, ...ids), []),
    );
    return found !== undefined && "rows" in found ? found.rows.map((row) => row.calls) : found;
  };
  for (const id of ["1", "2", "3"]) call("a", { id });
  for (const id of ["2", "3"]) call("a", { id });
  expect(await counted()).toEqual([3]);
  call("a", { id: "1" }); // stored again after two others
  expect(await counted()).toEqual([4]);
  for (const id of ["own-1", "own-2", "own-3"]) call(id, { id });
  expect(await counted()).toEqual([4]);
  expect(asked).toEqual(["acp:devin:own-2", "acp:devin:own-3"]);
});
