import type { DatabaseSync } from "node:sqlite";
import { MillraceError } from "../../base/errors.ts";
import { leaseMs } from "../lease.ts";
import { applicationId, migrations } from "./schema.ts";

export interface MigrateOptions {
  /** Epoch ms. */
  readonly nowMs: number;
  /** Whether the process of an owner has certainly ended, although its lease has not; unset: only the lease counts. */
  readonly ownerIsGone?: ((owner: string) => boolean) | undefined;
}

/** A number that SQLite keeps in the file's head, such as `user_version`: the version of the log, 0 without tables. */
export function numberOf(database: DatabaseSync, pragma: string): number {
  const value = database.prepare(`PRAGMA ${pragma}`).get()?.[pragma];
  return typeof value === "number" ? value : 0;
}

/**
 * Brings an open file to this version, in one transaction. Two programs may do so at once: the later one finds nothing left to do. After
 * an error the caller closes the file, and nothing has changed.
 *
 * @throws MillraceError `degraded` while a gateway of an older version uses the file: it could not store its answers in the new tables.
 *   `retryAfterMs` is the rest of the last lease.
 */
export function migrate(database: DatabaseSync, { nowMs, ownerIsGone = () => false }: MigrateOptions): void {
  if (numberOf(database, "user_version") === migrations.length) return;
  database.exec("BEGIN IMMEDIATE");
  const version = numberOf(database, "user_version");
  const leases = version === 0 ? [] : leasesIn(database, nowMs).filter(({ owner }) => !ownerIsGone(owner));
  if (leases.length > 0) {
    throw new MillraceError("degraded", "A gateway of an older version of Millrace still uses the log.", {
      hint: "Run `millrace restart`: it ends that gateway, and the new one updates the log. Nothing was changed.",
      retryAfterMs: Math.max(...leases.map(({ endsMs }) => endsMs)) - nowMs,
    });
  }
  for (const steps of migrations.slice(version)) database.exec(steps);
  database.exec(`PRAGMA application_id = ${applicationId}; PRAGMA user_version = ${migrations.length}; COMMIT`);
}

/** A lease that ends later than any could is from before the clock was set back. */
function leasesIn(
  database: DatabaseSync,
  nowMs: number,
): readonly { readonly owner: string; readonly endsMs: number }[] {
  const rows = database
    .prepare("SELECT owner, alive_until_ms FROM owners WHERE alive_until_ms > ? AND alive_until_ms <= ?")
    .all(nowMs, nowMs + leaseMs);
  return rows.map((row) => ({ owner: String(row["owner"]), endsMs: Number(row["alive_until_ms"]) }));
}
