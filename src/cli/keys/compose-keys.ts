import type { Clock } from "../../base/clock.ts";
import type { EventSource } from "../../base/emitter.ts";
import type { Secret } from "../../base/secret.ts";
import type { IssuedKey } from "../../gateway/dashboard/inventory.ts";
import { callerDigest } from "../../gateway/http/guard.ts";
import type { GatewayLog } from "../../gateway/http/log.ts";
import type { TurnLifecycle } from "../../turns/lifecycle.ts";
import type { Admission } from "../../turns/start/admission.ts";
import type { SharedUsage } from "../../usage/shared/shared-usage.ts";
import { type IssuedKeys, openIssuedKeys } from "./issued-keys.ts";
import { keyAdmission } from "./key-admission.ts";
import { KeyBudgets, type KeyBudgetsOptions } from "./key-budget.ts";
import { type KeyRecord, keyState } from "./key-record.ts";

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
  readonly events: EventSource<TurnLifecycle>;
  readonly history: KeyBudgetsOptions["history"];
  /** Where several gateways share the budgets. */
  readonly shared?: SharedUsage | undefined;
  /** The known keys that several gateways share. */
  readonly sharedKeys?: (() => readonly KeyRecord[]) | undefined;
  /** The name of a model's UID. */
  readonly nameOf: (uid: string) => string;
}

export function composeKeys(parts: KeyParts): ComposedKeys {
  const { key, keysFile, clock, log, events, history, shared, sharedKeys, nameOf } = parts;
  const onProblem = ({ message }: Error) => log.write("error", "keys_unusable", { why: message });
  const keys = openIssuedKeys({ file: keysFile, clock, shared: sharedKeys, onProblem });
  const budgets = new KeyBudgets({ history, clock, shared });
  events.on("turn_adopted", ({ caller, turnId }) => {
    const adopted = keys.keyOf(caller);
    if (adopted !== undefined) budgets.count(adopted, turnId);
  });
  const owner = callerDigest(key);
  return {
    ...keys,
    admission: keyAdmission({ keys, budgets, nameOf }),
    shown: () => keys.all().map((key) => shownKey(key, budgets, clock.now())),
    nameOf: (caller) => (caller === owner ? "owner" : keys.keyOf(caller)?.name),
  };
}

/** Member by member: neither hash nor salt. */
function shownKey(
  key: KeyRecord & { readonly caller: string },
  budgets: Pick<KeyBudgets, "standing">,
  nowMs: number,
): IssuedKey {
  const { name, caller, createdAtMs, expiresAtMs, revokedAtMs, models, apis, maxTurns, budget } = key;
  const standing = budgets.standing(key);
  return {
    name,
    caller,
    state: keyState(key, nowMs),
    createdAtMs,
    expiresAtMs,
    revokedAtMs,
    models,
    apis,
    maxTurns,
    budget: budget === undefined || standing === undefined ? undefined : { ...budget, ...standing },
  };
}
