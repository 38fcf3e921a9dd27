import { statSync } from "node:fs";
import { join } from "node:path";
import { agentOfModel } from "../../backends/agent-backend.ts";
import type { OpenBackends } from "../../backends/open-backend.ts";
import type { Emitter } from "../../base/emitter.ts";
import { processRuns } from "../../base/node/process-exists.ts";
import type { Secret } from "../../base/secret.ts";
import { readDashboard } from "../../gateway/dashboard/dashboard-files.ts";
import type { GatewayMetrics } from "../../gateway/metrics/metrics.ts";
import { type OpenGateway, openGateway } from "../../gateway/open-gateway.ts";
import type { PauseState, StoreState } from "../../gateway/options.ts";
import { openStreams } from "../../gateway/streams/open-streams.ts";
import type { IdeFinder } from "../../ide/ide.ts";
import type { Schemas } from "../../schema/open-schemas.ts";
import type { StreamTurns } from "../../turns/attach.ts";
import type { Meter } from "../../usage/meter.ts";
import { agentStats, type ComposedAgents } from "../agents/compose-agents.ts";
import { consentBook } from "../gateway-process/consent-book.ts";
import { healthDetails } from "../gateway-process/health-details.ts";
import { readPause } from "../gateway-process/pause-file.ts";
import { sessionFile } from "../gateway-process/session-file.ts";
import type { ComposedKeys } from "../keys/compose-keys.ts";
import type { TurnLimit } from "../keys/turn-limit.ts";
import { dashboardFolder, version } from "../package-files.ts";
import type { ComposeOptions } from "./compose-options.ts";
import type { OpenedStore } from "./compose-store.ts";
import type { ModelsWithWindows } from "./context-windows.ts";
import { ideVerdicts } from "./ide-verdicts.ts";
import type { GatewayLifecycle } from "./lifecycle.ts";

export interface GatewayParts extends ModelsWithWindows {
  readonly options: ComposeOptions;
  /** Random, made at each start. */
  readonly instance: string;
  readonly events: Emitter<GatewayLifecycle>;
  readonly metrics: GatewayMetrics;
  readonly schemas: Schemas;
  readonly finder: IdeFinder;
  readonly agents: ComposedAgents;
  readonly backends: OpenBackends;
  readonly opened: OpenedStore;
  readonly turns: StreamTurns;
  readonly meter: Meter;
  readonly keys: ComposedKeys;
  /** The owner's key, as it is now. */
  readonly ownerKey: () => Secret;
  readonly limitNow: () => TurnLimit;
}

/** The HTTP side of a gateway over its parts. */
export function composeGateway(parts: GatewayParts): OpenGateway {
  const { options, instance, events, metrics, schemas, finder, agents, backends, opened, turns, meter } = parts;
  const { io, log, folder, storeFile, redis, retention, key } = options;
  const { clock } = io;
  const ides = ideVerdicts(finder, schemas, { clock, isAlive: processRuns });
  return openGateway({
    turns,
    events,
    meter,
    rpc: openStreams(turns, { retainedMs: retention.windowMs }),
    metrics,
    storeState: () => describeStore(opened),
    pauseState: () => describePause(options.pauseFile),
    turnLimit: () => parts.limitNow(),
    consents: consentBook(finder, {
      folder,
      accept: options.accept,
      nowMs: () => clock.now(),
      namesAgent: options.acpCommand !== undefined,
    }),
    // With a shared server the file holds the usage history alone.
    logBytes: () => (storeFile === undefined || redis !== undefined ? undefined : bytesOf(storeFile)),
    dashboard: readDashboard(dashboardFolder),
    dashboardText: options.dashboardText,
    sessionStore: sessionFile(join(folder, "sessions.json")),
    ides: ides.read,
    idesMark: ides.mark,
    agents: () => agentStats(agents),
    healthDetails: healthDetails(finder, backends, clock),
    ideOf: (modelUid = "") => agentOfModel(modelUid) ?? backends.ide,
    models: parts.models,
    contextTokens: parts.contextTokens,
    clock,
    log,
    instance,
    keys: [{ name: "owner", key }],
    ownerKey: parts.ownerKey,
    callerOf: (given) => parts.keys.callerOf(given),
    issuedKeys: () => parts.keys.shown(),
    keyNameOf: (caller) => parts.keys.nameOf(caller),
    version: version(),
    allowedHosts: options.allowedHosts,
    allowedOrigins: options.allowedOrigins,
  });
}

function describePause(file: string): PauseState | null {
  const pause = readPause(file);
  if (pause === undefined) return null;
  return { since: pause.sinceMs === undefined ? null : new Date(pause.sinceMs).toISOString() };
}

function describeStore(opened: OpenedStore): StoreState {
  const error = opened.degradedBy();
  const damage = opened.damage();
  return {
    degraded: error !== undefined,
    why: error?.message ?? null,
    hint: error?.hint ?? null,
    damaged: damage ?? null,
  };
}

/** The size of the SQLite file, in bytes, with the part that is not merged into it yet. */
function bytesOf(file: string): number {
  return [file, `${file}-wal`].reduce((sum, path) => sum + (statSync(path, { throwIfNoEntry: false })?.size ?? 0), 0);
}
