import { createHash } from "node:crypto";
import { bestEffort } from "../../base/async.ts";
import type { Clock } from "../../base/clock.ts";
import { isDegraded, MillraceError } from "../../base/errors.ts";
import { fileVersion } from "../../base/node/own-file.ts";
import { Secret } from "../../base/secret.ts";
import type { IssuedKey } from "../../gateway/dashboard/inventory.ts";
import { callerDigest, type FoundKey } from "../../gateway/http/guard.ts";
import type { GatewayLog } from "../../gateway/http/log.ts";
import type { NewTurn } from "../../log/store.ts";
import { covers } from "../../models/newest.ts";
import type { AdmissionPolicy } from "../../turns/options.ts";
import { changeKeys, dayOf, hashKey, type KeyRecord, keyState, readKeys, startedOn } from "./key-record.ts";

/** The keys of a gateway: their callers, names and limits. `modelName`: the name of a model's UID. */
export function composeKeys({
  key,
  keysFile: file,
  clock,
  log,
  nameOf: modelName,
}: {
  readonly key: Secret;
  readonly keysFile: string;
  readonly clock: Clock;
  readonly log: GatewayLog;
  readonly nameOf: (uid: string) => string;
}) {
  const onProblem = ({ message }: Error) => log.write("error", "keys_unusable", { why: message });
  const keys = openIssuedKeys({ file, clock, onProblem });
  const owner = callerDigest(key);
  const lent = lentKeys();
  const awaitedUntilMs = clock.monotonic() + comeBackMs;
  const isAwaited = (given: Secret) => given.reveal().startsWith("mrr_") && clock.monotonic() < awaitedUntilMs;
  return {
    lend: (...given: Parameters<typeof lent.lend>) => lent.lend(...given),
    /** The key of this value, also one that has ended. Compares every key. */
    find: (given: Secret) =>
      lent.find(given) ?? keys.find(given) ?? (isAwaited(given) ? ("awaited" as const) : undefined),
    all: keys.all,
    ofCaller: (caller: string) => keys.ofCaller(caller),
    admission: keyAdmission({ keys, owner, file, clock, nameOf: modelName }),
    /** Every key as the dashboard shows it. */
    shown: () => [...keys.all()].map(([caller, key]) => shownKey(caller, key, clock.now())),
    /** The name of a caller's key; undefined if unknown. */
    nameOf: (caller: string) => (caller === owner ? "owner" : (clientOfCaller(caller) ?? keys.keyOf(caller)?.name)),
  };
}

/** How long a gateway that has started waits for the runs of the one before it; a run looks for its gateway several times in that time. ms. */
const comeBackMs = 5_000;

/**
 * A client is one caller in every run and by its set-up: its turns stay its own, and its name needs no file. No other caller has such a name, because theirs are
 * digests.
 */
const clientCaller = "client ";

/** The name of the client whose turns have this caller; undefined for any other caller. */
function clientOfCaller(caller: string): string | undefined {
  return caller.startsWith(clientCaller) ? caller.slice(clientCaller.length) : undefined;
}

/** The keys of the runs that hold one now, in memory alone: a run that outlives its gateway brings its key again. */
function lentKeys() {
  const held = new Map<string, { readonly client: string; holders: number }>();
  const find = (given: Secret): FoundKey | undefined => {
    const client = held.get(callerDigest(given))?.client; // by a digest: the time tells nothing of the key
    if (client === undefined) return undefined;
    const caller = { name: client, digest: `${clientCaller}${client}`, owner: false };
    return { caller, state: "works", endedAtMs: undefined };
  };
  return {
    /** Makes the key work until the signal aborts; answers how to find it. */
    lend({ client, key }: { readonly client: string; readonly key: Secret }, until: AbortSignal) {
      const digest = callerDigest(key);
      const entry = held.get(digest) ?? { client, holders: 0 };
      held.set(digest, entry);
      entry.holders++;
      const release = () => {
        if (--entry.holders === 0) held.delete(digest);
      };
      if (until.aborted) release();
      else until.addEventListener("abort", release, { once: true });
      return () => find(key);
    },
    find,
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

interface IssuedKeysOptions {
  readonly file: string;
  readonly clock: Pick<Clock, "now">;
  /** Called when the file cannot be used; once for each version of the file. */
  readonly onProblem: (error: Error) => void;
}

type IssuedKeys = ReturnType<typeof openIssuedKeys>;

/** The keys that `millrace keys` made, as a running gateway sees them: each change of their file counts from the next request on. */
export function openIssuedKeys({ file, clock, onProblem }: IssuedKeysOptions) {
  let seen: string | undefined;
  let records: readonly KeyRecord[] = [];
  let keys: ReadonlyMap<string, KeyRecord> = new Map();
  let isUnreadable = false;
  const current = () => {
    const now = fileVersion(file);
    if (now === seen) return keys;
    seen = now;
    isUnreadable = false;
    try {
      records = readKeys(file);
    } catch (error) {
      if (!isDegraded(error)) throw error;
      records = []; // a file that others can change opens nothing
      isUnreadable = true;
      onProblem(error);
    }
    keys = new Map(records.map((key) => [callerOf(key), key])); // of a client's keys the newest
    return keys;
  };
  const foundAs = (key: KeyRecord): FoundKey => ({
    caller: { name: key.name, digest: callerOf(key), owner: false },
    state: keyState(key, clock.now()),
    endedAtMs: key.revokedAtMs ?? key.expiresAtMs,
  });
  return {
    /** The key of this value, also one that has ended. Compares every key. */
    find(given: Secret): FoundKey | "unreadable" | undefined {
      let found: FoundKey | undefined;
      current();
      for (const key of records) {
        const isRight = new Secret(hashKey(given, key.salt)).equals(new Secret(key.hash));
        if (isRight) found = foundAs(key);
      }
      return found ?? (isUnreadable ? "unreadable" : undefined);
    },
    /** The key of a caller as `find` has it. */
    ofCaller(caller: string): FoundKey | undefined {
      const key = current().get(caller);
      return key && foundAs(key);
    },
    /** The key of a caller, also after it was revoked. */
    keyOf: (caller: string) => current().get(caller),
    /** Every key by its caller, also those that open nothing any more. */
    all: current,
  };
}

function callerOf({ client, name, id }: KeyRecord): string {
  if (client === true) return `${clientCaller}${name}`;
  return createHash("sha256").update("millrace key\0").update(id).digest("hex");
}

export interface KeyAdmissionOptions {
  readonly keys: Pick<IssuedKeys, "keyOf">;
  /** The caller whose turns have no limits. */
  readonly owner: string;
  /** The file of the keys. It holds the count, so a restart forgets nothing. */
  readonly file: string;
  readonly clock: Pick<Clock, "now">;
  /** The name of a model's UID. */
  readonly nameOf: (uid: string) => string;
}

const nothing = () => {};

/** Checks each turn against the limits of its key: models, and turns a day. The owner's key has none. */
export function keyAdmission({ keys, owner, file, clock, nameOf }: KeyAdmissionOptions): AdmissionPolicy {
  return {
    admit(turn) {
      if (turn.caller === owner || clientOfCaller(turn.caller) !== undefined) return nothing;
      const key = keys.keyOf(turn.caller);
      if (key === undefined)
        throw new MillraceError("unauthenticated", "The key of this turn is no longer there.", {
          hint: "Ask the owner of this gateway for a new key.",
        });
      checkModel(key, turn, nameOf(turn.modelUid));
      return key.turnsPerDay === undefined ? nothing : countTurn(file, key.id, clock.now());
    },
  };
}

function checkModel({ name, models }: KeyRecord, { modelUid, request }: NewTurn, modelName: string): void {
  const names = [modelUid, modelName, request.model].map((each) => each.toLowerCase());
  const isNamed = (model: string) => names.includes(model.toLowerCase()) || covers(model, modelName);
  if (models.length === 0 || models.some(isNamed)) return;
  throw new MillraceError("model_not_allowed", `The key ${name} may not use the model ${modelName}.`, {
    hint: `It may use: ${models.join(", ")}.`,
    param: "model",
  });
}

/**
 * Counts a turn that is about to start. The lock of the file makes check and count one step. The returned function takes the turn
 * back; where the file cannot be written then, the turn stays counted.
 */
function countTurn(file: string, id: string, nowMs: number): () => void {
  const { day, endsAtMs } = dayOf(nowMs);
  const takeBack = async () =>
    changeKey(file, id, (key) => {
      const turns = startedOn(day, key);
      return turns === 0 ? key : { ...key, started: { day, turns: turns - 1 } };
    });
  try {
    changeKey(file, id, (key) => {
      const turns = startedOn(day, key);
      if (turns < (key.turnsPerDay ?? Infinity)) return { ...key, started: { day, turns: turns + 1 } };
      throw new MillraceError(
        "quota_exhausted",
        `The key ${key.name} has used its ${key.turnsPerDay} turns for today.`,
        {
          hint: `It can start turns again at ${new Date(endsAtMs).toISOString()}. The owner of the gateway can make a key with more turns.`,
          resetsAtMs: endsAtMs,
          retryAfterMs: endsAtMs - nowMs,
        },
      );
    });
  } catch (cause) {
    if (!isDegraded(cause)) throw cause;
    throw new MillraceError("unavailable", "The turns of this key cannot be counted now.", {
      hint: "Try again in a moment. If that does not help, the owner of the gateway can type `millrace keys` to see the reason.",
      retryAfterMs: 5_000,
      cause,
    });
  }
  return () => void bestEffort(takeBack());
}

function changeKey(file: string, id: string, change: (key: KeyRecord) => KeyRecord): void {
  changeKeys(file, (keys) => keys.map((key) => (key.id === id ? change(key) : key)));
}
