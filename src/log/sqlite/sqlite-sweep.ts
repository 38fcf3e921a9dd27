import { turnNumber } from "./rows.ts";
import type { Statements } from "./sqlite-streams.ts";

/** How many turns, and how many events, one transaction of a sweep erases: a moment's work. */
const turnsAtOnce = 32;
const eventsAtOnce = 512;

export interface Sweeping {
  readonly statements: Statements;
  /** Runs the work in a transaction, which other writes may share; `flush`: on the disk when it resolves. */
  readonly write: <T>(flush: boolean, work: () => T) => Promise<T>;
}

/** Erases the turns that have expired and removes old tombstones, a few at a time: running turns write in between. */
export async function sweepTurns(sweeping: Sweeping, nowMs: number, tombstonesUpToMs: number): Promise<void> {
  const { statements, write } = sweeping;
  const expired = "SELECT turn_id FROM turns WHERE expires_at_ms <= ? AND erased_at_ms IS NULL LIMIT ?";
  await inSlices(statements, expired, nowMs, async (turnIds) => {
    await write(true, () => {
      for (const turnId of turnIds) entomb(statements, turnId, nowMs);
    });
    await deleteEvents(sweeping, turnIds);
  });
  const past = "SELECT turn_id FROM turns WHERE erased_at_ms <= ? LIMIT ?";
  await inSlices(statements, past, tombstonesUpToMs, async (turnIds) => {
    await deleteEvents(sweeping, turnIds); // what a process left that died while it swept
    await write(true, () => {
      for (const turnId of turnIds) statements.run("DELETE FROM turns WHERE turn_id = ?", turnId);
    });
  });
}

/** Deletes the turn's key and request, so that it can no longer be read. Call inside a transaction. */
export function entomb(statements: Statements, turnId: string, atMs: number): void {
  statements.run(`DELETE FROM headers WHERE turn = ${turnNumber}`, turnId);
  const sql = `UPDATE turns SET label = x'', wrapped_key = x'', erased_at_ms = ?, version = version + 1
    WHERE turn_id = ? AND erased_at_ms IS NULL`;
  statements.run(sql, atMs, turnId);
}

async function inSlices(
  statements: Statements,
  sql: string,
  upToMs: number,
  work: (turnIds: readonly string[]) => Promise<void>,
): Promise<void> {
  for (;;) {
    const rows = statements.all(sql, upToMs, turnsAtOnce);
    if (rows.length > 0) await work(rows.map((row) => String(row["turn_id"])));
    if (rows.length < turnsAtOnce) return;
  }
}

/** All events of the turns, so many at a time. */
async function deleteEvents({ statements, write }: Sweeping, turnIds: readonly string[]): Promise<void> {
  const sql = `DELETE FROM events WHERE rowid IN (SELECT rowid FROM events WHERE turn = ${turnNumber} LIMIT ?)`;
  for (let next = 0; next < turnIds.length; ) {
    next = await write(false, () => {
      let turn = next;
      for (let room = eventsAtOnce; room > 0 && turn < turnIds.length; ) {
        const deleted = statements.run(sql, turnIds[turn] ?? "", room);
        if (deleted < room) turn += 1;
        room -= deleted;
      }
      return turn;
    });
  }
}
