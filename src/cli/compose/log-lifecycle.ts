import type { BackendLifecycle } from "../../backends/lifecycle.ts";
import type { EventSource } from "../../base/emitter.ts";
import { ideName } from "../../base/ide-name.ts";
import type { GatewayLog } from "../../gateway/http/log.ts";
import type { Ide } from "../../ide/ide.ts";
import type { IdeLifecycle } from "../../ide/lifecycle.ts";
import type { StoreLifecycle } from "../../log/lifecycle.ts";
import type { ModelLifecycle } from "../../models/lifecycle.ts";
import type { TurnLifecycle } from "../../turns/lifecycle.ts";
import type { FinishedTurn } from "../../usage/history/finished-turn.ts";
import type { UsageLifecycle } from "../../usage/lifecycle.ts";

/** Writes the log lines of the gateway's life. `store` and `file` name where turns and the usage history are kept. */
export function logLifecycle(
  events: EventSource<GatewayLifecycle>,
  log: GatewayLog,
  { store, file }: { readonly store: string | undefined; readonly file: string | undefined },
): void {
  events.on("turn_problem", ({ event, turnId, error }) => log.write("warn", event, { turnId, error: describe(error) }));
  events.on("ide_read", ({ turnId, ideTools }) => log.write("info", "the IDE's agent read", { turnId, ideTools }));
  events.on("turn_ended", (turn) => log.write("info", "turn", counted(turn)));
  events.on("store_failed", ({ error: { message: why, hint } }) =>
    log.write("error", "store_degraded", { store, why, hint }),
  );
  events.on("store_recovered", () => log.write("info", "store_healed", { store }));
  events.on("store_damaged", ({ copy }) => log.write("error", "store_damaged", { store, copy }));
  events.on("history_failed", ({ error: { message: why, hint } }) =>
    log.write("error", "usage_degraded", { file, why, hint }),
  );
  events.on("history_recovered", () => log.write("info", "usage_healed", { file }));
  events.on("history_set_aside", ({ copy }) => log.write("warn", "usage_set_aside", { file, copy }));
  events.on("usage_unrecorded", ({ error }) => log.write("warn", "usage not recorded", { error: String(error) }));
  events.on("agent_models_unread", ({ agent, error }) =>
    log.write("warn", "agent_models_unread", { agent, error: describe(error) }),
  );
  events.on("agent_noted", ({ agent, notices }) => log.write("info", "agent_noted", { agent, notices }));
  events.on("ide_found", (ide) => log.write("info", "ide_found", named(ide)));
  events.on("ide_lost", (ide) => log.write("info", "ide_lost", named(ide)));
}

function named({ product, variant, build, pid }: Ide): Readonly<Record<string, unknown>> {
  return { product, variant: ideName(variant), build, pid };
}

/** Names and counts of a turn that ended. */
function counted(turn: FinishedTurn): Readonly<Record<string, unknown>> {
  const { turnId, client, model, modelName, dialect, promptTokens, completionTokens, tokenSource, outcome, reason } =
    turn;
  const ms = turn.endedAtMs - turn.startedAtMs;
  return {
    turnId,
    client,
    model: modelName ?? model,
    dialect,
    promptTokens,
    completionTokens,
    tokenSource,
    ms,
    outcome,
    reason,
  };
}

function describe(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

/** All events of a gateway's life. `compose.ts` makes the one source of them. */
export interface GatewayLifecycle
  extends TurnLifecycle,
    StoreLifecycle,
    UsageLifecycle,
    IdeLifecycle,
    ModelLifecycle,
    BackendLifecycle {}
