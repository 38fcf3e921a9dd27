import type { DatabaseSync } from "node:sqlite";

/** The names that models had when turns used them, kept over restarts. */
export interface ModelNames {
  /** Notes the name of a model at a time (epoch ms). A name that did not change adds nothing. */
  note(model: string, name: string, atMs: number): void;
  /** The last name of each model before `untilMs` (epoch ms, exclusive), by UID. */
  before(untilMs: number): ReadonlyMap<string, string>;
}

/** Reads and writes the table `usage_model_names` of the usage history. */
export function openModelNames(db: DatabaseSync): ModelNames {
  const last = db.prepare(
    "SELECT name FROM usage_model_names WHERE model = ? AND since_ms <= ? ORDER BY since_ms DESC LIMIT 1",
  );
  const insert = db.prepare(
    "INSERT INTO usage_model_names (model, since_ms, name) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
  );
  const all = db.prepare("SELECT model, name FROM usage_model_names WHERE since_ms < ? ORDER BY since_ms");
  return {
    note(model, name, atMs) {
      if (last.get(model, atMs)?.["name"] !== name) insert.run(model, atMs, name);
    },
    before: (untilMs) => new Map(all.all(untilMs).map((row) => [String(row["model"]), String(row["name"])])),
  };
}
