import { randomUUID } from "node:crypto";
import { statSync } from "node:fs";
import { join } from "node:path";
import type { OpenBackends } from "../../backends/open-backend.ts";
import type { MillraceError } from "../../base/errors.ts";
import type { Secret } from "../../base/secret.ts";
import { readDashboard } from "../../gateway/dashboard/dashboard-files.ts";
import type { Listening } from "../../gateway/http/listen.ts";
import type { GatewayLog } from "../../gateway/http/log.ts";
import { openIdempotent } from "../../gateway/idempotent/open-idempotent.ts";
import { GatewayMetrics } from "../../gateway/metrics/metrics.ts";
import { type OpenGateway, openGateway } from "../../gateway/open-gateway.ts";
import { defaultMostOpen, type StoreState } from "../../gateway/options.ts";
import type { IdeOverrides } from "../../ide/discover/overrides.ts";
import type { IdeFinder } from "../../ide/ide.ts";
import type { Retention } from "../../log/retention.ts";
import type { Damage } from "../../log/sqlite/damage.ts";
import type { Model, Models } from "../../models/model.ts";
import { openTurns } from "../../turns/open-turns.ts";
import { estimateTokens } from "../../turns/prompt/estimate.ts";
import { layoutPrompt } from "../../turns/prompt/layout.ts";
import type { Turns } from "../../turns/turns.ts";
import type { FinishedTurn } from "../../usage/history/finished-turn.ts";
import type { LimitsSnapshot } from "../../usage/limits.ts";
import type { Limits } from "../../usage/meter.ts";
import { quotaReset } from "../../usage/quota-reset.ts";
import { agentStats } from "../agents/compose-agents.ts";
import type { Config } from "../config/config-schema.ts";
import { healthDetails } from "../gateway-process/health-details.ts";
import { keyInFile } from "../gateway-process/key-file.ts";
import { ownerIsGone, ownerName } from "../gateway-process/owner.ts";
import { sessionFile } from "../gateway-process/session-file.ts";
import { dashboardFolder, version } from "../package-files.ts";
import type { Io } from "../terminal/io.ts";
import { composeIdeFinder, composeSchemas } from "./compose-ide.ts";
import { composeMeter, startMeter } from "./compose-meter.ts";
import { openStore } from "./compose-store.ts";
import { type AskingOptions, composeUpstream } from "./compose-upstream.ts";
import { ideVerdicts } from "./ide-verdicts.ts";
import { trajectoryNotes } from "./own-cascades.ts";
import type { RedisAddress } from "./redis-address.ts";
import { streamQuotasOf } from "./stream-quotas.ts";
import { wholeNumber } from "./whole-number.ts";

export interface ComposeOptions extends AskingOptions {
  readonly io: Io;
  readonly overrides: IdeOverrides;
  /** The user's configuration file. */
  readonly config: Config;
  readonly log: GatewayLog;
  readonly key: Secret;
  /** The file that holds it, where one does: looked into when a request carries another key. */
  readonly keyFile?: string;
  /** Millrace's own folder. */
  readonly folder: string;
  /** The SQLite file of the log and the usage history; undefined keeps them in memory. */
  readonly storeFile: string | undefined;
  /** The Redis server that holds the log instead. */
  readonly redis?: RedisAddress | undefined;
  /** The file of the key that seals the log; made where there is none. */
  readonly logKeyFile: string;
  readonly graceMs: number;
  readonly retention: Retention;
  readonly implicitJoins: boolean;
  /** How long a trajectory stays open for the next turn of its conversation; undefined: every turn has a fresh one. */
  readonly continuityIdleMs: number | undefined;
  /** Whether the dashboard may show the texts of prompts and answers. */
  readonly dashboardText: boolean;
  readonly allowedHosts: readonly string[];
  readonly allowedOrigins: readonly string[];
}

/** Everything that a gateway process is made of, wired. */
export interface Composed {
  readonly instance: string;
  /** The owner's key, as the gateway was opened with it. */
  readonly key: Secret;
  readonly finder: IdeFinder;
  readonly backends: OpenBackends;
  readonly models: Models;
  readonly turns: Turns;
  readonly gateway: OpenGateway;
  /** What was found broken of the store as it was opened. */
  readonly damage: Damage | undefined;
  /** Turns in the store that nobody can read, because the key that sealed them is gone. */
  readonly unreadableTurns: number;
  /** Why turns are kept in memory for now, if the store failed as it was opened. */
  readonly degradedBy: MillraceError | undefined;
  /** Frees the port, ends or hands over what runs, tells who reads it, then frees everything. */
  close(listening?: Pick<Listening, "stopAccepting" | "close">): Promise<void>;
}

/** The one place where the parts of a gateway meet. */
export async function compose(options: ComposeOptions): Promise<Composed> {
  const { io, log } = options;
  const { clock } = io;
  const instance = randomUUID();
  const schemas = composeSchemas(io);
  const owner = ownerName(instance);
  const finder = composeIdeFinder(io, options.overrides, { owner, schemas });
  const contextTokens = new Map<string, number | undefined>();
  const { folder, config, backend, acpCommand, ideTools } = options;
  const upstream = composeUpstream({
    io,
    finder,
    config,
    backend,
    acpCommand,
    folder,
    owner,
    ideTools,
    onProblem: (agent, error) => log.write("warn", "agent_models_unread", { agent, error: describe(error) }),
  });
  const { agents, backends, journal } = upstream;
  const models = noting(upstream.models, ({ uid, contextTokens: tokens }) => contextTokens.set(uid, tokens));
  const { storeFile, redis, logKeyFile } = options;
  const where = redis?.shown ?? storeFile;
  let reopenHistory = () => {};
  const { store, damage, unreadableTurns, degradedBy } = await openStore({
    storeFile,
    redis,
    logKeyFile,
    retention: options.retention,
    clock,
    onDegraded: (error) => {
      if (error === undefined) log.write("info", "store_healed", { store: where });
      else log.write("error", "store_degraded", { store: where, why: error.message, hint: error.hint });
    },
    onRestored: () => {
      log.write("warn", "store_restored", { store: where });
      reopenHistory();
    },
    onDamaged: ({ copy, lostKeys }) => log.write("error", "store_damaged", { store: where, copy, lost_keys: lostKeys }),
  });
  const metrics = new GatewayMetrics(version());
  const onTurn = (turn: FinishedTurn) => metrics.turnEnded(turn);
  let plans: Limits["readings"] = [];
  const meter = composeMeter({
    io,
    finder,
    folder,
    storeFile,
    onTurn,
    onReading: ({ readings }) => {
      plans = readings;
    },
    ownsFile: redis !== undefined,
    onDegraded: (error) => {
      if (error === undefined) log.write("info", "usage_healed", { file: storeFile });
      else log.write("error", "usage_degraded", { file: storeFile, why: error.message, hint: error.hint });
    },
    onSetAside: (copy) => log.write("warn", "usage_set_aside", { file: storeFile, copy }),
  });
  reopenHistory = () => meter.history.reopen();
  const inner = openTurns({
    store,
    backends,
    clock,
    graceMs: options.graceMs,
    implicitJoins: options.implicitJoins,
    owner,
    ownerIsGone: (other) => ownerIsGone(other, owner),
    layout: (request, model, continues) =>
      layoutPrompt(
        request,
        { ...model, contextTokens: contextTokens.get(model.uid) },
        continues === undefined ? {} : { continues },
      ).prompt,
    countTokens: estimateTokens,
    resetOf: () => quotaReset(promptedPlans(plans), clock.now()),
    onOutcomes: (turn, outcomes) => metered.noteCalls(turn, outcomes),
    trajectoryNotes: trajectoryNotes(journal, owner, clock),
    ...(options.continuityIdleMs === undefined ? {} : { continuity: { idleMs: options.continuityIdleMs } }),
    onPoll: () => metrics.pollAnswered(),
    onAdopted: (turn) => metered.noteAdopted(turn),
    onProblem: ({ event, turnId, error }) => log.write("warn", event, { turnId, error: describe(error) }),
  });
  const metered = startMeter({ ...meter, clock, turns: inner, log, nameOf: (uid) => models.nameOf(uid) });
  const { turns, starts } = metered;
  const gateway = openGateway({
    turns,
    starts,
    meter: metered.meter,
    rpc: openIdempotent(turns, streamQuotasOf(io.env, options.retention.windowMs)),
    metrics,
    mostOpen: wholeNumber(io.env, "MILLRACE_OPEN_REQUESTS", defaultMostOpen),
    storeState: () => describeStore(degradedBy(), damage()),
    // With a shared server the file holds the usage history alone.
    logBytes: () => (storeFile === undefined || redis !== undefined ? undefined : bytesOf(storeFile)),
    dashboard: readDashboard(dashboardFolder),
    dashboardText: options.dashboardText,
    sessionStore: sessionFile(join(folder, "sessions.json")),
    ides: ideVerdicts(finder, schemas, clock),
    agents: () => agentStats(agents),
    healthDetails: healthDetails(finder, backends),
    models,
    contextTokens: (uid) => contextTokens.get(uid),
    clock,
    log,
    instance,
    keys: [{ name: "owner", key: options.key }],
    ...(options.keyFile === undefined ? {} : { keyInFile: keyInFile(options.keyFile, clock) }),
    version: version(),
    allowedHosts: options.allowedHosts,
    allowedOrigins: options.allowedOrigins,
  });
  return {
    instance,
    key: options.key,
    finder,
    backends,
    models,
    turns,
    gateway,
    damage: damage(),
    unreadableTurns,
    degradedBy: degradedBy(),
    async close(listening) {
      await listening?.stopAccepting();
      await metered.close();
      await inner.stop(); // open streams end with an error that makes their clients come back
      await listening?.close();
      await agents.close();
      await store.close();
      finder.close();
    },
  };
}

function describeStore(error: MillraceError | undefined, damage: Damage | undefined): StoreState {
  return {
    degraded: error !== undefined,
    why: error?.message ?? null,
    hint: error?.hint ?? null,
    damaged: damage === undefined ? null : { copy: damage.copy ?? null, lost_keys: damage.lostKeys },
  };
}

/** Bytes that the SQLite file takes, with what is not merged into it yet. */
function bytesOf(file: string): number {
  return [file, `${file}-wal`].reduce((sum, path) => sum + (statSync(path, { throwIfNoEntry: false })?.size ?? 0), 0);
}

/** The same models, each of which is told on when a list or a name is answered. */
function noting(models: Models, note: (model: Model) => void): Models {
  return {
    nameOf: (uid) => models.nameOf(uid),
    async list(options, signal) {
      const list = await models.list(options, signal);
      for (const model of list) note(model);
      return list;
    },
    async resolve(name, effort, signal) {
      const resolution = await models.resolve(name, effort, signal);
      note(resolution.model);
      return resolution;
    },
  };
}

/** The plans that pay for prompts: Antigravity is metered only. */
function promptedPlans(readings: Limits["readings"]): readonly LimitsSnapshot[] {
  return readings.map(({ snapshot }) => snapshot).filter(({ ide }) => ide !== "antigravity");
}

function describe(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
