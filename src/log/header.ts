import type { NewTurn } from "./store.ts";

/** The part of a turn's description that is stored as text; the rest are columns. */
export type TurnHeader = Omit<NewTurn, "turnId" | "createdAtMs" | "caller">;

/** JSON; an endless grace time is written as a word, since JSON has no number for it. */
export function encodeHeader(header: TurnHeader): string {
  return JSON.stringify({ ...header, graceMs: header.graceMs === Infinity ? "to_end" : header.graceMs });
}

export function decodeHeader(text: string): TurnHeader {
  const stored = JSON.parse(text) as Omit<TurnHeader, "graceMs"> & { graceMs: number | "to_end" }; // written by encodeHeader
  return {
    dialect: stored.dialect,
    request: stored.request,
    modelUid: stored.modelUid,
    modelNumber: stored.modelNumber,
    fingerprint: stored.fingerprint,
    idempotencyKey: stored.idempotencyKey,
    session: stored.session,
    client: stored.client,
    graceMs: stored.graceMs === "to_end" ? Infinity : stored.graceMs,
    ...(stored.modelRule === undefined ? {} : { modelRule: stored.modelRule }),
    ...(stored.project === undefined ? {} : { project: stored.project }),
    ...(stored.wire === undefined ? {} : { wire: stored.wire }),
  };
}
