import type { NewTurn } from "./store.ts";

/** The part of a turn's description that is stored as text; the rest are columns. */
export type TurnHeader = Omit<NewTurn, "turnId" | "createdAtMs" | "caller">;

/** JSON; an endless grace time is written as a word, since JSON has no number for it. */
export function encodeHeader(header: TurnHeader): string {
  return JSON.stringify({ ...header, graceMs: header.graceMs === Infinity ? "to_end" : header.graceMs });
}

export function decodeHeader(text: string): TurnHeader {
  const stored = JSON.parse(text) as Omit<TurnHeader, "graceMs"> & { graceMs: number | "to_end" }; // written by encodeHeader
  return headerOf({ ...stored, graceMs: stored.graceMs === "to_end" ? Infinity : stored.graceMs });
}

/** Keeps only a turn's header. */
export function headerOf(turn: TurnHeader): TurnHeader {
  return {
    dialect: turn.dialect,
    request: turn.request,
    modelUid: turn.modelUid,
    modelNumber: turn.modelNumber,
    fingerprint: turn.fingerprint,
    idempotencyKey: turn.idempotencyKey,
    session: turn.session,
    client: turn.client,
    graceMs: turn.graceMs,
    ...(turn.modelRule === undefined ? {} : { modelRule: turn.modelRule }),
    ...(turn.project === undefined ? {} : { project: turn.project }),
    ...(turn.wire === undefined ? {} : { wire: turn.wire }),
  };
}
