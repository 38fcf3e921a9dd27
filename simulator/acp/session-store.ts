import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import process from "node:process";
import { DatabaseSync } from "node:sqlite";
import { processExists } from "../../src/base/node/process-exists.ts";

/** A piece of a stored conversation. Pieces of one message that follow one another are one message. */
export interface StoredNode {
  readonly message: string;
  readonly role: "user" | "thought" | "assistant" | "tool";
  /** Text; for `tool` and for images the update as JSON. */
  readonly body: string;
  readonly kind: "text" | "json";
}

/** What one call to a model used, in the names of the real program. */
export interface ModelCall {
  readonly message: string;
  readonly model: string;
  readonly usage: {
    readonly input_tokens: number;
    readonly output_tokens: number;
    readonly cache_read_tokens: number;
    readonly cache_creation_tokens: number;
  };
}

export interface StoredSession {
  readonly sessionId: string;
  readonly cwd: string;
  readonly title: string;
  readonly updatedAtMs: number;
}

/**
 * The sessions of the CLI: `cli/sessions.db` beside its credentials, in WAL mode, shared by all processes. Each piece of an answer is
 * written before it is shown, so that a killed process leaves all text that it had shown. `message_nodes` has what others read of the
 * real program's: the model and the tokens of each call.
 */
export class SessionStore {
  readonly #database: DatabaseSync;

  constructor(path: string) {
    mkdirSync(dirname(path), { recursive: true });
    this.#database = new DatabaseSync(path);
    this.#database.exec("PRAGMA busy_timeout = 10000; PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF;");
    this.#database.exec(`
      CREATE TABLE IF NOT EXISTS sessions (
        id TEXT PRIMARY KEY, working_directory TEXT NOT NULL, title TEXT NOT NULL, last_activity_at REAL NOT NULL,
        running_pid INTEGER);
      CREATE TABLE IF NOT EXISTS message_nodes (
        row_id INTEGER PRIMARY KEY, session_id TEXT NOT NULL, node_id INTEGER NOT NULL, parent_node_id INTEGER,
        chat_message TEXT NOT NULL, created_at INTEGER NOT NULL);
      CREATE TABLE IF NOT EXISTS pieces (
        seq INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL, message_id TEXT NOT NULL, role TEXT NOT NULL,
        kind TEXT NOT NULL, body TEXT NOT NULL, created_at REAL NOT NULL);
      CREATE INDEX IF NOT EXISTS pieces_of_session ON pieces (session_id, seq);`);
  }

  /** Puts a session on disk with its first prompt, or marks it as running. False when another process runs it. */
  begin(session: StoredSession): boolean {
    const { sessionId, cwd, title, updatedAtMs } = session;
    if (this.lockedBy(sessionId) !== undefined) return false;
    const insert = `INSERT INTO sessions (id, working_directory, title, last_activity_at, running_pid) VALUES (?, ?, ?, ?, ?)
      ON CONFLICT (id) DO UPDATE SET last_activity_at = excluded.last_activity_at, running_pid = excluded.running_pid`;
    this.#database.prepare(insert).run(sessionId, cwd, title, updatedAtMs / 1000, process.pid);
    return true;
  }

  append(sessionId: string, node: StoredNode, nowMs: number): void {
    const insert =
      "INSERT INTO pieces (session_id, message_id, role, kind, body, created_at) VALUES (?, ?, ?, ?, ?, ?)";
    this.#database.prepare(insert).run(sessionId, node.message, node.role, node.kind, node.body, nowMs / 1000);
  }

  end(sessionId: string, nowMs: number): void {
    const update = "UPDATE sessions SET running_pid = NULL, last_activity_at = ? WHERE id = ?";
    this.#database.prepare(update).run(nowMs / 1000, sessionId);
  }

  /** Writes down what a call to the model used, where the real program does. */
  answered(sessionId: string, { message, model, usage }: ModelCall, nowMs: number): void {
    const content = this.messages(sessionId).findLast(({ role }) => role === "assistant")?.body ?? "";
    const metadata = { created_at: new Date(nowMs).toISOString(), generation_model: model, metrics: usage };
    const node = JSON.stringify({ message_id: message, role: "assistant", content, metadata });
    const insert = `INSERT INTO message_nodes (session_id, node_id, chat_message, created_at)
      SELECT ?1, coalesce(max(node_id) + 1, 0), ?2, ?3 FROM message_nodes WHERE session_id = ?1`;
    this.#database.prepare(insert).run(sessionId, node, Math.floor(nowMs / 1000));
  }

  /** The live process that runs a turn of this session. */
  lockedBy(sessionId: string): number | undefined {
    const row = this.#database.prepare("SELECT running_pid FROM sessions WHERE id = ?").get(sessionId);
    const pid = row?.["running_pid"];
    return typeof pid === "number" && processExists(pid) ? pid : undefined;
  }

  has(sessionId: string): boolean {
    return this.#database.prepare("SELECT 1 FROM sessions WHERE id = ?").get(sessionId) !== undefined;
  }

  /** Its messages, oldest first, each as a whole. */
  messages(sessionId: string): StoredNode[] {
    const select = "SELECT message_id, role, kind, body FROM pieces WHERE session_id = ? ORDER BY seq";
    const rows = this.#database.prepare(select).all(sessionId);
    const messages: (Omit<StoredNode, "body"> & { body: string })[] = [];
    for (const row of rows) {
      const { role, kind } = row;
      const node = { message: String(row["message_id"]), role, kind, body: String(row["body"]) };
      const last = messages.at(-1);
      if (last !== undefined && last.message === node.message && last.role === node.role && node.kind === "text") {
        last.body += node.body;
      } else {
        messages.push(node as StoredNode); // role and kind are those that `append` wrote
      }
    }
    return messages;
  }

  list(): StoredSession[] {
    return this.#database
      .prepare("SELECT id, working_directory, title, last_activity_at FROM sessions ORDER BY last_activity_at DESC")
      .all()
      .map((row) => ({
        sessionId: String(row["id"]),
        cwd: String(row["working_directory"]),
        title: String(row["title"]),
        updatedAtMs: Number(row["last_activity_at"]) * 1000,
      }));
  }

  delete(sessionId: string): boolean {
    this.#database.prepare("DELETE FROM pieces WHERE session_id = ?").run(sessionId);
    this.#database.prepare("DELETE FROM message_nodes WHERE session_id = ?").run(sessionId);
    return this.#database.prepare("DELETE FROM sessions WHERE id = ?").run(sessionId).changes > 0;
  }

  close(): void {
    this.#database.close();
  }
}
