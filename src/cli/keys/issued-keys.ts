import { createHash } from "node:crypto";
import type { Clock } from "../../base/clock.ts";
import { isDegraded } from "../../base/errors.ts";
import { Secret } from "../../base/secret.ts";
import type { Caller } from "../../gateway/http/guard.ts";
import { hashKey, type KeyRecord } from "./key-record.ts";
import { readKeys, versionOf } from "./keys-file.ts";
import { mergeKeys } from "./merge-keys.ts";

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
  /** The keys of the store that gateways share, as far as they are known; the same array until they change. */
  readonly shared?: (() => readonly KeyRecord[]) | undefined;
  /** Called when the file cannot be used; once for each version of the file. */
  readonly onProblem: (error: Error) => void;
}

const none: readonly KeyRecord[] = [];

export function openIssuedKeys({ file, clock, shared = () => none, onProblem }: IssuedKeysOptions): IssuedKeys {
  let seen: string | undefined;
  let seenShared = none;
  let inFile = none;
  let keys: readonly (KeyRecord & { readonly caller: string })[] = [];
  const current = () => {
    const [now, nowShared] = [versionOf(file), shared()];
    if (now === seen && nowShared === seenShared) return keys;
    if (now !== seen) {
      seen = now;
      try {
        inFile = readKeys(file);
      } catch (error) {
        if (!isDegraded(error)) throw error;
        inFile = none; // a file that others can change opens nothing
        onProblem(error);
      }
    }
    seenShared = nowShared;
    keys = mergeKeys(nowShared, inFile).map((key) => ({ ...key, caller: digestOfId(key.id) }));
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

function digestOfId(id: string): string {
  return createHash("sha256").update("millrace key\0").update(id).digest("hex");
}
