import { randomUUID } from "node:crypto";
import { openBackends } from "../backends/open-backend.ts";
import type { Secret } from "../base/secret.ts";
import type { GatewayLog } from "../gateway/log.ts";
import { type OpenGateway, openGateway } from "../gateway/open-gateway.ts";
import type { IdeFinder } from "../ide/ide.ts";
import type { IdeOverrides } from "../ide/overrides.ts";
import { openFallbackLog } from "../log/fallback/open-fallback-log.ts";
import { openMemoryLog } from "../log/memory/open-memory-log.ts";
import { openSqliteLog } from "../log/sqlite/open-sqlite-log.ts";
import type { LogStore } from "../log/store.ts";
import type { Model, Models } from "../models/model.ts";
import { openModels } from "../models/open-models.ts";
import { openTurns } from "../turns/open-turns.ts";
import { estimateTokens } from "../turns/prompt/estimate.ts";
import { layoutPrompt } from "../turns/prompt/layout.ts";
import type { Turns } from "../turns/turns.ts";
import { composeIdeFinder } from "./compose-ide.ts";
import type { Io } from "./io.ts";
import { promptServers } from "./servers.ts";
import { version } from "./version.ts";

export interface ComposeOptions {
  readonly io: Io;
  readonly overrides: IdeOverrides;
  readonly log: GatewayLog;
  readonly key: Secret;
  /** The SQLite file of the log; undefined keeps it in memory. */
  readonly storeFile: string | undefined;
  readonly graceMs: number;
  readonly implicitJoins: boolean;
  /** How long a trajectory stays open for the next turn of its conversation; undefined: every turn has a fresh one. */
  readonly continuityIdleMs: number | undefined;
  readonly allowedHosts: readonly string[];
  readonly allowedOrigins: readonly string[];
}

/** Everything that a gateway process is made of, wired. */
export interface Composed {
  readonly instance: string;
  readonly finder: IdeFinder;
  readonly models: Models;
  readonly turns: Turns;
  readonly gateway: OpenGateway;
  /** A damaged store that was put aside, so that a new one could be opened. */
  readonly setAside: string | undefined;
  /** Ends or hands over what runs, then frees everything. */
  close(): Promise<void>;
}

/** The one place where the parts of a gateway meet. Throws `degraded` when the store cannot be opened. */
export async function compose(options: ComposeOptions): Promise<Composed> {
  const { io, log } = options;
  const { clock } = io;
  const instance = randomUUID();
  const finder = composeIdeFinder(io, options.overrides);
  const servers = promptServers(finder);
  const contextTokens = new Map<string, number | undefined>();
  const models = noting(
    openModels(async (signal) => (await servers.find(signal)).getUserStatus(signal), { clock }),
    ({ uid, contextTokens: tokens }) => contextTokens.set(uid, tokens),
  );
  const { store, setAside } = await openStore(options);
  const turns = openTurns({
    store,
    backends: openBackends({ ...servers, clock }),
    clock,
    graceMs: options.graceMs,
    implicitJoins: options.implicitJoins,
    owner: instance,
    layout: (request, model, continues) =>
      layoutPrompt(
        request,
        { ...model, contextTokens: contextTokens.get(model.uid) },
        continues === undefined ? {} : { continues },
      ).prompt,
    transforms: () => [],
    countTokens: estimateTokens,
    ...(options.continuityIdleMs === undefined ? {} : { continuity: { idleMs: options.continuityIdleMs } }),
    onProblem: ({ event, turnId, error }) => log.write("warn", event, { turnId, error: describe(error) }),
  });
  const gateway = openGateway({
    turns,
    models,
    clock,
    log,
    instance,
    keys: [{ name: "owner", key: options.key }],
    version: version(),
    allowedHosts: options.allowedHosts,
    allowedOrigins: options.allowedOrigins,
  });
  return {
    instance,
    finder,
    models,
    turns,
    gateway,
    setAside: setAside(),
    async close() {
      await turns.stop();
      await store.close();
      finder.close();
    },
  };
}

/** The log on disk, or memory while the disk fails; what is wrong is said once. */
async function openStore(
  options: ComposeOptions,
): Promise<{ readonly store: LogStore; readonly setAside: () => string | undefined }> {
  const { storeFile, io, log } = options;
  const { clock } = io;
  if (storeFile === undefined) return { store: openMemoryLog({ clock }), setAside: () => undefined };
  let setAside: string | undefined;
  const store = await openFallbackLog({
    clock,
    capabilities: { survivesRestart: true, sharedBetweenProcesses: true },
    async open() {
      const opened = await openSqliteLog({ path: storeFile, clock });
      setAside ??= opened.setAside;
      return opened.store;
    },
    onDegraded: (error) => {
      if (error === undefined) log.write("info", "store_healed", { storeFile });
      else log.write("error", "store_degraded", { storeFile, why: error.message, hint: error.hint });
    },
  });
  return { store, setAside: () => setAside };
}

/** The same models, each of which is told on when a list or a name is answered. */
function noting(models: Models, note: (model: Model) => void): Models {
  return {
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

function describe(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
