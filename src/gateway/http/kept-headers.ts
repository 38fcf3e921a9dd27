import type { TurnRecord } from "../../log/store.ts";

/** The headers of every answer about a turn: the turn's id, how long the answer is kept (by the clock of `date`), and whether only memory holds it. */
export function keptHeaders({
  turnId,
  expiresAtMs,
  degraded,
}: Pick<TurnRecord, "turnId" | "expiresAtMs" | "degraded">): Readonly<Record<string, string>> {
  return {
    "x-millrace-turn": turnId,
    "x-millrace-degraded": String(degraded),
    "x-millrace-expires": new Date(expiresAtMs).toISOString(),
  };
}
