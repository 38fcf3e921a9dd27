import { createHash } from "node:crypto";
import type { Clock } from "../../base/clock.ts";
import { isDegraded } from "../../base/errors.ts";
import { fileVersion } from "../../base/node/own-file.ts";
import { Secret } from "../../base/secret.ts";
import type { Caller } from "../../gateway/http/guard.ts";
import { hashKey, type KeyRecord } from "./key-record.ts";
import { readKeys } from "./keys-file.ts";

/** The keys that `millrace keys` made, as a running gateway sees them: each change of their file counts from the next request on. */
export interface IssuedKeys {
  /** The caller of this key; undefined if the key is unknown, revoked or expired. Compares every key. */
  callerOf(key: Secret): Caller | undefined;
  /** The key of a caller, also after it was revoked. */
  keyOf(caller: string): KeyRecord | undefined;
  /** Every key by its caller, also those that open nothing any more. */
  all(): ReadonlyMap<string, KeyRecord>;
}

export interface IssuedKeysOptions {
  readonly file: string;
  readonly clock: Pick<Clock, "now">;
  /** Called when the file cannot be used; once for each version of the file. */
  readonly onProblem: (error: Error) => void;
}

export function openIssuedKeys({ file, clock, onProblem }: IssuedKeysOptions): IssuedKeys {
  let seen: string | undefined;
  let keys: ReadonlyMap<string, KeyRecord> = new Map();
  const current = () => {
    const now = fileVersion(file);
    if (now === seen) return keys;
    seen = now;
    try {
      keys = new Map(readKeys(file).map((key) => [digestOfId(key.id), key]));
    } catch (error) {
      if (!isDegraded(error)) throw error;
      keys = new Map(); // a file that others can change opens nothing
      onProblem(error);
    }
    return keys;
  };
  return {
    callerOf(given) {
      let found: Caller | undefined;
      for (const [caller, { salt, hash, name, revokedAtMs, expiresAtMs = Infinity }] of current()) {
        const isRight = new Secret(hashKey(given, salt)).equals(new Secret(hash));
        if (isRight && revokedAtMs === undefined && clock.now() < expiresAtMs)
          found = { name, digest: caller, owner: false };
      }
      return found;
    },
    keyOf: (caller) => current().get(caller),
    all: current,
  };
}

function digestOfId(id: string): string {
  return createHash("sha256").update("millrace key\0").update(id).digest("hex");
}
