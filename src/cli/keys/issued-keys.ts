import { createHash } from "node:crypto";
import { statSync } from "node:fs";
import type { Clock } from "../../base/clock.ts";
import { isDegraded } from "../../base/errors.ts";
import { Secret } from "../../base/secret.ts";
import type { Caller } from "../../gateway/http/guard.ts";
import { hashKey, type KeyRecord, readKeys } from "./keys-file.ts";

/** The keys that `millrace keys` made, as a running gateway sees them: each change of their file counts from the next request on. */
export interface IssuedKeys {
  /** The caller of this key; undefined if the key is unknown, revoked or expired. Compares every key. */
  callerOf(key: Secret): Caller | undefined;
  /** The key of a caller, also after it was revoked. */
  keyOf(caller: string): KeyRecord | undefined;
  /** Every key, also those that open nothing any more, with its caller. */
  all(): readonly (KeyRecord & { readonly caller: string })[];
}

export interface IssuedKeysOptions {
  readonly file: string;
  readonly clock: Pick<Clock, "now">;
  /** The file cannot be used; told once for each version of it. */
  readonly onProblem: (error: Error) => void;
}

export function openIssuedKeys({ file, clock, onProblem }: IssuedKeysOptions): IssuedKeys {
  let seen: string | undefined;
  let keys: readonly (KeyRecord & { readonly caller: string })[] = [];
  const current = () => {
    const now = versionOf(file);
    if (now === seen) return keys;
    seen = now;
    try {
      keys = readKeys(file).map((key) => ({ ...key, caller: digestOfId(key.id) }));
    } catch (error) {
      if (!isDegraded(error)) throw error;
      keys = []; // a file that others can change opens nothing
      onProblem(error);
    }
    return keys;
  };
  return {
    callerOf(given) {
      let found: Caller | undefined;
      for (const { salt, hash, caller, name, revokedAtMs, expiresAtMs = Infinity } of current()) {
        const isRight = new Secret(hashKey(given, salt)).equals(new Secret(hash));
        if (isRight && revokedAtMs === undefined && clock.now() < expiresAtMs)
          found = { name, digest: caller, owner: false };
      }
      return found;
    },
    keyOf: (caller) => current().find((key) => key.caller === caller),
    all: current,
  };
}

/** Changes whenever the file is replaced. */
function versionOf(file: string): string {
  const stat = statSync(file, { throwIfNoEntry: false, bigint: true });
  return stat === undefined ? "none" : `${stat.ino} ${stat.mtimeNs} ${stat.ctimeNs} ${stat.size}`;
}

function digestOfId(id: string): string {
  return createHash("sha256").update("millrace key\0").update(id).digest("hex");
}
