import type { DatabaseSync } from "node:sqlite";
import { mostResumptions, type Resumption, type ResumptionKind } from "./resumption.ts";

/** Returns to turns, beside their history. */
export interface Resumptions {
  add(resumption: Resumption): void;
  /** In order of time; at most the first 200. */
  of(turnId: string): readonly Resumption[];
}

export function openResumptions(db: DatabaseSync): Resumptions {
  const insert = db.prepare(
    `INSERT INTO usage_resumptions (turn_id, at_ms, how, after_event, client)
     SELECT :turnId, :atMs, :how, :after, :client
     WHERE (SELECT count(*) FROM usage_resumptions WHERE turn_id = :turnId) < ${mostResumptions}`,
  );
  const select = db.prepare("SELECT * FROM usage_resumptions WHERE turn_id = ? ORDER BY at_ms, rowid");
  return {
    add(resumption) {
      insert.run({ ...resumption, client: resumption.client ?? null });
    },
    of: (turnId) =>
      select.all(turnId).map((row) => ({
        turnId,
        atMs: Number(row["at_ms"]),
        how: row["how"] as ResumptionKind, // written from a resumption
        after: String(row["after_event"]),
        client: row["client"] === null ? undefined : String(row["client"]),
      })),
  };
}
