import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import type { AcpAgentSpec } from "./agent-spec.ts";
import { forgetSession } from "./own-settings.ts";

const id = "01a21af8-7211-79e2-9a8c-20f54be85ff8";
const own = "-root--millrace-agents-x-millrace-empty";

/** Which of these files of a home are left once a session of the agent was closed for good. */
async function left(
  command: string,
  closed: string,
  files: Readonly<Record<string, string>>,
): Promise<readonly string[]> {
  const home = mkdtempSync(join(tmpdir(), "millrace-traces-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(dirname(join(home, file)), { recursive: true });
    writeFileSync(join(home, file), text);
  }
  const spec: AcpAgentSpec = {
    name: "a",
    ide: "a",
    vendor: "other",
    command,
    args: [],
    environment: { HOME: home },
    folder: join(home, ".millrace"),
  };
  await forgetSession(spec, closed);
  return Object.keys(files).filter((file) => existsSync(join(home, file)));
}

test.each([
  [
    "codex-acp",
    [
      `.codex/sessions/2026/11/27/rollout-2026-11-27T03-06-59-${id}.jsonl`,
      `.codex/archived_sessions/rollout-${id}.jsonl`,
    ],
    [".codex/sessions/2026/11/27/rollout-other.jsonl", ".codex/auth.json", `notes/${id}.md`],
  ],
  [
    "claude-agent-acp",
    [`.claude/projects/${own}/${id}.jsonl`, `.claude/projects/${own}/${id}/part.txt`],
    [`.claude/projects/${own}/other.jsonl`, `.claude/projects/-home-me-work/${id}.jsonl`, ".claude.json"],
  ],
  [
    "qwen",
    [`.qwen/projects/${own}/chats/${id}.jsonl`],
    [`.qwen/projects/${own}/chats/other.jsonl`, ".qwen/settings.json"],
  ],
] as const)("what a closed session of %s left is removed, and nothing else", async (command, session, others) => {
  const files = Object.fromEntries([...session, ...others].map((file) => [file, "text"]));
  expect(await left(command, id, files)).toEqual(others);
});

test("Gemini's files are found by the beginning of the id in their names and the whole id in their text", async () => {
  const chats = ".gemini/tmp/millrace-empty/chats";
  const files = {
    [`${chats}/session-2026-11-27T03-07-01a21af8.jsonl`]: JSON.stringify({ sessionId: id }),
    [`${chats}/session-2026-11-27T03-08-01a21af8.jsonl`]: JSON.stringify({ sessionId: "01a21af8-other" }),
    ".gemini/tmp/work/chats/session-2026-11-27T03-07-01a21af8.jsonl": JSON.stringify({ sessionId: id }),
  };
  expect(await left("gemini", id, files)).toEqual(Object.keys(files).slice(1));
});

test("its rows are deleted from a database of its agent, which has it open, and their text is overwritten", async () => {
  const home = mkdtempSync(join(tmpdir(), "millrace-rows-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const data = join(home, ".local/share/opencode");
  mkdirSync(data, { recursive: true });
  const database = new DatabaseSync(join(data, "opencode.db"));
  onTestFinished(() => database.close());
  database.exec(`PRAGMA journal_mode = WAL;
    CREATE TABLE session (id TEXT PRIMARY KEY, title TEXT);
    CREATE TABLE part (id TEXT PRIMARY KEY, session_id TEXT REFERENCES session (id), data TEXT);
    CREATE INDEX of_session ON part (session_id);
    CREATE TABLE note (session_id TEXT, data TEXT)`);
  for (const session of [id, "another-session-0001"]) {
    database.prepare("INSERT INTO session VALUES (?, ?)").run(session, `title of ${session}`);
    database.prepare("INSERT INTO part VALUES (?, ?, ?)").run(`p-${session}`, session, `words of ${session}`);
    database.prepare("INSERT INTO note VALUES (?, ?)").run(session, "small");
  }
  const environment = { HOME: home };
  await forgetSession(
    { name: "a", ide: "a", vendor: "other", command: "opencode", args: [], environment, folder: home },
    id,
  );
  const count = (table: string) => database.prepare(`SELECT count(*) AS n FROM ${table}`).get()?.["n"];
  expect([count("session"), count("part"), count("note")]).toEqual([1, 1, 2]);
  const bytes = readdirSync(data).map((name) => readFileSync(join(data, name), "latin1"));
  expect(bytes.join("")).toContain("words of another-session-0001");
  expect(bytes.join("")).not.toContain(`words of ${id}`);
});

test.each(["", ".", "..", "sessions", "*", "jsonl", "../../../../etc/passwd/etc"])(
  "an agent that names a session %j makes nobody remove a file",
  async (closed) => {
    const files = { [`.codex/sessions/rollout-${id}.jsonl`]: "", ".codex/sessions/2026/a.jsonl": "" };
    expect(await left("codex-acp", closed, files)).toEqual(Object.keys(files));
  },
);

test("an agent that is not known keeps its files", async () => {
  const files = { [`.codex/sessions/rollout-${id}.jsonl`]: "" };
  expect(await left("other", id, files)).toEqual(Object.keys(files));
});
