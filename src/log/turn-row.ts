import { startOfLog, type TurnId } from "../base/ids.ts";
import { parseJson, writeJson } from "../base/json.ts";
import { type CancelledBy, eventIdOf, type TerminalEventType } from "./event.ts";
import type { Row } from "./rows.ts";
import { expiryOf, type NewTurn, type Retention, type TurnRecord } from "./store.ts";

/** What a turn's row holds beside its columns, in `meta`. */
export interface TurnMeta {
  readonly caller: string;
  /** The turn's own key, wrapped. */
  readonly key: string;
  /** The label of a turn that its client sealed, which the gateway's key opens. */
  readonly label?: string;
  readonly attachedAtMs: number;
  /** The longest grace time that was asked for since the turn began, if one was. */
  readonly graceMs?: StoredGrace;
  readonly outcome?: TerminalEventType;
  readonly endedAtMs?: number;
  readonly delivered?: true;
  readonly cancel?: CancelledBy;
}

/** JSON has no number for an endless grace time. */
type StoredGrace = number | "to_end";

export function metaOf({ meta }: Pick<Row, "meta">): TurnMeta {
  return meta as unknown as TurnMeta; // written by the turn log
}

export function storedGrace(graceMs: number): StoredGrace {
  return graceMs === Infinity ? "to_end" : graceMs;
}

export function graceOf(stored: StoredGrace | undefined): number {
  return stored === "to_end" ? Infinity : (stored ?? 0);
}

/** JSON of a turn's facts. */
export function encodeTurn(turn: NewTurn): string {
  return writeJson({ ...turn, graceMs: storedGrace(turn.graceMs) });
}

export function decodeTurn(text: string): NewTurn {
  const stored = parseJson(text) as Omit<NewTurn, "graceMs"> & { readonly graceMs: StoredGrace }; // written by encodeTurn
  // JSON leaves out what is undefined
  const absent = { modelNumber: undefined, idempotencyKey: undefined, session: undefined, client: undefined };
  return { ...absent, ...stored, graceMs: graceOf(stored.graceMs) };
}

/** What the gateway may show of a turn that its client sealed: time, model, dialect, client and project, and no text. */
export function labelOf(turn: NewTurn): NewTurn {
  const { turnId, createdAtMs, caller, dialect, modelUid, modelNumber, client, project, request } = turn;
  return {
    turnId,
    createdAtMs,
    caller,
    dialect,
    modelUid,
    modelNumber,
    client,
    ...(project === undefined ? {} : { project }),
    request: {
      model: request.model,
      messages: [],
      tools: [],
      toolChoice: { type: "auto" },
      parallelToolCalls: true,
      responseFormat: { type: "text" },
      stop: [],
    },
    fingerprint: "",
    idempotencyKey: undefined,
    session: undefined,
    graceMs: 0,
  };
}

/** The record of a turn from its facts and its row. */
export function recordOf(turn: NewTurn, row: Row, nowMs: number, retention: Retention): TurnRecord {
  const { attachedAtMs, graceMs, outcome, delivered = false, cancel } = metaOf(row);
  return {
    ...turn,
    graceMs: Math.max(turn.graceMs, graceOf(graceMs)),
    turnId: row.id as TurnId, // the row of a turn
    ended: !row.open,
    outcome,
    delivered,
    cancelRequested: row.open ? cancel : undefined,
    owner: row.owner,
    degraded: false,
    lastEventId: row.last === 0 ? startOfLog : eventIdOf(row.last),
    attachedAtMs,
    expiresAtMs: row.expiresAtMs ?? expiryOf(nowMs, nowMs, retention),
  };
}
