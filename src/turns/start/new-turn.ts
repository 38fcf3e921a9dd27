import { newTurnId } from "../../base/ids.ts";
import type { NewTurn } from "../../log/store.ts";
import type { StartTurn } from "../turns.ts";

/** The stored form of a request, as its turn begins. */
export function newTurnOf(asked: StartTurn, createdAtMs: number, defaultGraceMs: number): NewTurn {
  const { modelRule, project, wire, graceMs = defaultGraceMs } = asked;
  return {
    turnId: newTurnId(createdAtMs),
    createdAtMs,
    dialect: asked.dialect,
    request: asked.request,
    modelUid: asked.modelUid,
    modelNumber: asked.modelNumber,
    caller: asked.caller,
    fingerprint: asked.fingerprint,
    idempotencyKey: asked.idempotencyKey,
    session: asked.session,
    client: asked.client,
    graceMs,
    ...(modelRule === undefined ? {} : { modelRule }),
    ...(project === undefined ? {} : { project }),
    ...(wire === undefined ? {} : { wire }),
  };
}
