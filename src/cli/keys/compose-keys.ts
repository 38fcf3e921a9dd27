import type { Clock } from "../../base/clock.ts";
import type { Secret } from "../../base/secret.ts";
import type { IssuedKey } from "../../gateway/dashboard/inventory.ts";
import { callerDigest } from "../../gateway/http/guard.ts";
import type { GatewayLog } from "../../gateway/http/log.ts";
import type { Admission } from "../../turns/options.ts";
import { type IssuedKeys, openIssuedKeys } from "./issued-keys.ts";
import { keyAdmission } from "./key-admission.ts";
import { dayOf, type KeyRecord, keyState, startedOn } from "./key-record.ts";

/** The keys of a gateway: their callers, names and limits. */
export interface ComposedKeys extends IssuedKeys {
  readonly admission: Admission;
  /** The name of a caller's key; undefined if unknown. */
  nameOf(caller: string): string | undefined;
  /** Every key as the dashboard shows it. */
  shown(): readonly IssuedKey[];
}

export interface KeyParts {
  readonly key: Secret;
  readonly keysFile: string;
  readonly clock: Clock;
  readonly log: GatewayLog;
  /** The name of a model's UID. */
  readonly nameOf: (uid: string) => string;
}

export function composeKeys(parts: KeyParts): ComposedKeys {
  const { key, keysFile: file, clock, log, nameOf } = parts;
  const onProblem = ({ message }: Error) => log.write("error", "keys_unusable", { why: message });
  const keys = openIssuedKeys({ file, clock, onProblem });
  const owner = callerDigest(key);
  return {
    ...keys,
    admission: keyAdmission({ keys, owner, file, clock, nameOf }),
    shown: () => [...keys.all()].map(([caller, key]) => shownKey(caller, key, clock.now())),
    nameOf: (caller) => (caller === owner ? "owner" : keys.keyOf(caller)?.name),
  };
}

/** Member by member: neither hash nor salt. */
function shownKey(caller: string, key: KeyRecord, nowMs: number): IssuedKey {
  const { name, createdAtMs, expiresAtMs, revokedAtMs, models, turnsPerDay: most } = key;
  const { day, endsAtMs: resetsAtMs } = dayOf(nowMs);
  return {
    name,
    caller,
    state: keyState(key, nowMs),
    createdAtMs,
    expiresAtMs,
    revokedAtMs,
    models,
    turnsPerDay: most === undefined ? undefined : { most, used: startedOn(day, key), resetsAtMs },
  };
}
