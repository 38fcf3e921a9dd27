import { bestEffort, notNeeded } from "../base/async.ts";
import { isMillraceError, MillraceError } from "../base/errors.ts";

/** What a row is: a turn, the parts of its request or of its end, a client's stream, or the place of a turn that is no longer kept. */
export type RowKind = "turn" | "parts" | "stream" | "tombstone";

/**
 * A log as its medium keeps it: one row and its entries. The columns are what the medium compares or searches; `meta` is the rest, as
 * small plain JSON. The medium never reads `meta`, `proof`, `head` and entries: the layer above seals and checks them.
 */
export interface Row {
  readonly id: string;
  readonly kind: RowKind;
  readonly createdAtMs: number;
  /** Grows with each claim, from 1. A writer that states an older epoch is refused. */
  readonly epoch: number;
  /** How many entries there are. They are numbered from 1 without gaps. */
  readonly last: number;
  /** Whether entries may still follow. */
  readonly open: boolean;
  /** The gateway that writes it, or wrote it last: its home, a slash, and its start. */
  readonly owner: string;
  /** When `sweep` removes it, epoch ms; undefined while it runs. */
  readonly expiresAtMs: number | undefined;
  /** Keyed digests by which it is found. At most one row has a tag that begins with `key:`. They never change. */
  readonly tags: readonly string[];
  readonly meta: Readonly<Record<string, unknown>>;
  /** Authenticates the columns that decide who may read; written anew with each change of one of them. */
  readonly proof: Uint8Array;
  /** Written once; left out unless it is asked for. */
  readonly head?: Uint8Array;
}

/** One entry of a row's log. `seq` counts from 1. */
export interface Entry {
  readonly seq: number;
  readonly bytes: Uint8Array;
}

/** What must hold for an update. A row that is gone never matches. */
export interface Guard {
  readonly epoch?: number;
  readonly last?: number;
  readonly open?: boolean;
  /** This home does not live (`SharedRows`). */
  readonly goneHome?: string;
}

/** Changes of a row's columns. Members of `meta` are merged one by one; `null` removes one. */
export interface RowChange {
  readonly owner?: string;
  readonly open?: boolean;
  /** `null`: it does not expire. */
  readonly expiresAtMs?: number | null;
  readonly meta?: Readonly<Record<string, unknown>>;
  readonly proof?: Uint8Array;
}

export type Op =
  /** Refused if a row with the same `id`, or with the same `key:` tag, is there. */
  | { readonly type: "insert"; readonly row: Row; readonly head: Uint8Array }
  | {
      readonly type: "update";
      readonly id: string;
      readonly guard?: Guard;
      /** Raises the epoch by one. */
      readonly claim?: true;
      readonly set?: RowChange;
      readonly entries?: readonly Uint8Array[];
    }
  /** Removes the row, its head, tags and entries; a row that is not there is no reason to refuse, except by a guard. */
  | { readonly type: "remove"; readonly id: string; readonly guard?: Guard };

/** `refused`: the first operation that did not hold, and the row that stood in its way; nothing was written then. */
export type Outcome =
  | { readonly type: "done" }
  | { readonly type: "refused"; readonly at: number; readonly by: Row | undefined };

export interface RowFilter {
  readonly kind: RowKind;
  readonly tag?: string;
  readonly open?: boolean;
  /** Only those that expire at or before this time, the first to expire first. Not together with `tag`. */
  readonly expiredAtMs?: number;
  readonly limit: number;
}

/** How much one read of entries returns at most: it returns one entry at least, if there is any. */
export interface PageLimit {
  readonly count: number;
  readonly bytes: number;
}

export interface RowsAbilities {
  /** A new process finds what an earlier one wrote. */
  readonly survivesRestart: boolean;
  /** The gateways of other machines write it as well: one can lose the connection while the others keep writing. */
  readonly isShared: boolean;
}

/**
 * Where logs live: SQLite (a file, or `:memory:`) and Redis. It has one verb to write: change rows whose epoch and number are as
 * expected, add entries, all or nothing. Every method throws `degraded` when the medium is full, locked or gone.
 */
export interface Rows {
  readonly abilities: RowsAbilities;
  /** All or nothing. Resolved means on the disk if `flush`, else safe from a crash of this process. */
  commit(ops: readonly Op[], flush: boolean): Promise<Outcome>;
  get(id: string, withHead?: boolean): Promise<Row | undefined>;
  /** Without heads; newest first, unless `expiredAtMs` is given. */
  find(filter: RowFilter): Promise<readonly Row[]>;
  /** Entries after that number, in order. Of a row that is gone there are none. */
  entries(id: string, after: number, most: PageLimit): Promise<readonly Entry[]>;
  /** Resolves at the next change of the row, by any gateway; sooner, it may be. `cancel:` before the id: at the next cancel from another gateway. Registers before it returns. Rejects with the signal's reason. */
  changed(id: string, signal: AbortSignal): Promise<void>;
  /** Present where several homes share the rows. */
  readonly shared?: SharedRows;
  /** Removes up to 64 rows of these kinds that expired at or before `nowMs`, and returns how many. */
  sweep(nowMs: number, kinds: readonly RowKind[]): Promise<number>;
  close(): Promise<void>;
}

/** What rows have that several homes share: who of them lives, and one clock. */
export interface SharedRows {
  /** Epoch ms on the medium's own clock, as known since the last answer. */
  now(): number;
  /** The home lives; it counts as gone two minutes after the last of these calls. Returns whether it was there. */
  renewHome(home: string): Promise<boolean>;
  isHomeThere(home: string): Promise<boolean>;
  /** Whether the others seal with the same key. The first one sets its check value. */
  agreesOnKey(checkValue: string): Promise<boolean>;
}

/** The home of an owner: its turns belong to that home's next gateway. */
export function homeOf(owner: string): string {
  return owner.split("/", 1)[0] ?? "";
}

/** Resolves with the row once that holds of it, at once if it does. Rejects with the signal's reason, and with the medium's errors. `topic`: what is waited for, where that is not each change. */
// oxlint-disable-next-line max-params -- one more than four
export async function untilRow(
  rows: Pick<Rows, "get" | "changed">,
  id: string,
  holds: (row: Row | undefined) => boolean,
  signal: AbortSignal,
  topic = id,
): Promise<Row | undefined> {
  for (;;) {
    const first = await rows.get(id);
    if (holds(first)) return first;
    const looked = new AbortController();
    const changed = rows.changed(topic, AbortSignal.any([signal, looked.signal])); // registered before it looks again
    void bestEffort(changed);
    try {
      const row = await rows.get(id);
      if (holds(row)) return row;
      await changed;
    } finally {
      looked.abort(notNeeded);
    }
  }
}

/**
 * The form of rows, heads and entries that this build writes, in `meta`; without one a row has the form 1. A change that other builds would
 * misread raises it. Source: test/faults/earlier-homes.test.ts, which reads what earlier builds wrote.
 */
export const rowForm = 1;

/** The form of a turn whose request, or the text of whose end, stands in parts, and of a stream with such a message. */
export const formInParts = 2;

export function formOf({ meta }: Pick<Row, "meta">): number {
  return Number(meta["form"] ?? 1);
}

/** What stands in parts: a turn's request, the text of its end, or a message of a stream, as one attempt stored it. */
export type InParts = "request" | "end" | `message ${string}`;

/** The row with the parts. */
export function partsOf(what: InParts, of: string): string {
  return `${what}:${of}`;
}

/** The rows with the parts of this one: of a turn both that it may have, of a stream those that its own row names. */
export function apartOf({ id, kind, meta }: Pick<Row, "id" | "kind"> & Partial<Row>): readonly string[] {
  if (kind === "turn") return [partsOf("request", id), partsOf("end", id)];
  return (meta?.["apart"] ?? []) as readonly string[]; // written by `Streams.admit`
}

/** Removes a row of this epoch, or of any, with what stands in parts. */
export function removal(row: Parameters<typeof apartOf>[0]): readonly Op[] {
  const { id, epoch } = row;
  const guard = epoch === undefined ? {} : { guard: { epoch } };
  return [{ type: "remove", id, ...guard }, ...apartOf(row).map((part): Op => ({ type: "remove", id: part }))];
}

/** What a medium wrote as JSON. Damage that it does not see leaves `otherwise`, which the row's proof does not fit. */
export function parsedOr<T>(text: unknown, otherwise: T): T {
  try {
    return JSON.parse(String(text)) as T;
  } catch {
    return otherwise;
  }
}

const unknownMessage = "There is no such turn.";

/** The error for a turn that is not there, or is there for another caller or key. */
export function unknownTurn(): MillraceError {
  return new MillraceError("invalid_request", unknownMessage, {
    hint: "Check the turn's id; `GET /v1/turns` lists the turns that are kept.",
  });
}

export function isUnknownTurn(error: unknown): boolean {
  return isMillraceError(error) && error.message === unknownMessage;
}

export function expiredTurn(): MillraceError {
  return new MillraceError("expired", "The answer to this request is no longer kept.");
}

/** The error for a log whose bytes are not those that were written. None of it is shown. */
export function damagedLog(cause?: unknown): MillraceError {
  return new MillraceError("internal", "The stored answer was changed or damaged, so it is not shown.", {
    hint: "Send the request again under a new idempotency key.",
    cause,
  });
}

/** The error for a row of another form. It is left as it is, and never prompted again under its key. */
export function otherForm(): MillraceError {
  return new MillraceError(
    "expired",
    "Another version of Millrace stored this answer, and this version cannot read it.",
    {
      hint: "Start that version again, or send the request under a new idempotency key. Nothing was changed.",
    },
  );
}

/** The error for a request with an idempotency key while nothing can be stored: without a stored turn it could be asked twice. */
export function notStored(cause: MillraceError): MillraceError {
  return new MillraceError("unavailable", `The turn cannot be stored, so no prompt was sent. ${cause.message}`, {
    hint: `${cause.hint} Then send the request again. Without an idempotency key it is answered now, from memory.`,
    retryAfterMs: 1_000,
    cause,
  });
}

/** The error for a turn that an earlier gateway left, with which nobody can go on while nothing can be stored. */
export function waitsForStore(cause: MillraceError): MillraceError {
  return new MillraceError("unavailable", `The answer goes on once the log can be written. ${cause.message}`, {
    hint: `${cause.hint} Then send the same request again: nothing is lost, and no second prompt is sent.`,
    retryAfterMs: 5_000,
    cause,
  });
}

/** The end of a turn whose home is gone: nobody will go on with it. */
export function homeIsGone(): MillraceError {
  return new MillraceError("upstream_failed", "The machine that asks this turn is gone.", {
    hint: "The part that arrived was kept. Send the request again; if it had an idempotency key, use a new one.",
  });
}

/** The error of the older of two attaches of a stream. */
export function superseded(): MillraceError {
  return new MillraceError("cancelled", "A newer connection has taken this stream over.", {
    hint: "Continue there; this connection can only read.",
    details: { reason: "superseded" },
  });
}
