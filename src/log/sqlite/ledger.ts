import type { DatabaseSync } from "node:sqlite";
import type { Clock } from "../../base/clock.ts";
import { MillraceError } from "../../base/errors.ts";
import { NoteWriter } from "./commit-note.ts";
import { digestOfKey, digestOfMessage, type KeyedTurn, KeyJournal } from "./key-journal.ts";
import type { Statements } from "./sqlite-streams.ts";

/** Two files beside a log that reveal damage to it: a note of the last commit, and the keys of its turns. */
export class Ledger {
  readonly #clock: Pick<Clock, "now">;
  readonly #note: NoteWriter;
  readonly #journal: KeyJournal;

  /** `path`: the log's file. */
  constructor(path: string, clock: Pick<Clock, "now">) {
    this.#clock = clock;
    this.#note = new NoteWriter(path);
    this.#journal = new KeyJournal(path);
  }

  /** Counts a flushed transaction, from inside it. The returned function is called once the transaction is on the disk. */
  count({ one }: Pick<Statements, "one">): () => void {
    const row = one("UPDATE log_state SET commits = commits + 1 RETURNING log_id, commits");
    if (row === undefined) return () => {};
    const { logId, commits } = { logId: String(row["log_id"]), commits: Number(row["commits"]) };
    return () => this.#note.write({ logId, commits, atMs: this.#clock.now() });
  }

  /** The turn is in the log, and its prompt is not sent yet. */
  created(turn: KeyedTurn): void {
    this.#journal.add([turn]);
  }

  removed(turnId: string): void {
    this.#journal.removed(turnId);
  }

  /** Called when another connection has the log: the files beside it may have gone with the old file. */
  reopened(database: DatabaseSync): void {
    this.#note.close();
    beginJournal(this.#journal, database);
  }

  /** Drops the keys of turns that the log does not hold any more. */
  async sweep({ one }: Pick<Statements, "one">): Promise<void> {
    if (!this.#journal.isLong) return;
    await this.#journal.compact((turnId) => one("SELECT 1 FROM turns WHERE turn_id = ?", turnId) !== undefined);
  }

  close(): void {
    this.#note.close();
  }
}

/** Where there is no journal yet, one with the keys that the log holds. */
export function beginJournal(journal: KeyJournal, database: DatabaseSync): void {
  if (journal.bytes !== undefined) return;
  const keyed = "SELECT turn_id, caller, key_index, created_at_ms FROM turns WHERE key_index IS NOT NULL";
  const sent = `SELECT messages.turn_id, stream_id, seqno, created_at_ms FROM messages
    JOIN turns ON turns.turn_id = messages.turn_id`;
  const place = (row: Record<string, unknown>) => ({
    turnId: String(row["turn_id"]),
    createdAtMs: Number(row["created_at_ms"]),
  });
  journal.add([
    ...database
      .prepare(keyed)
      .all()
      .map((row) => ({ digest: digestOfKey(String(row["caller"]), String(row["key_index"])), ...place(row) })),
    ...database
      .prepare(sent)
      .all()
      .map((row) => ({ digest: digestOfMessage(String(row["stream_id"]), Number(row["seqno"])), ...place(row) })),
  ]);
}

/** The error for a request whose key may belong to a turn in the lost part of the log. */
export function logDamaged(): MillraceError {
  return new MillraceError("log_damaged", "The log was damaged, and the turn of this idempotency key is lost.");
}
