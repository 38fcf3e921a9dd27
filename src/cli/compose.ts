import { randomUUID } from "node:crypto";
import { openBackends } from "../backends/open-backend.ts";
import type { Secret } from "../base/secret.ts";
import type { GatewayLog } from "../gateway/log.ts";
import { type OpenGateway, openGateway } from "../gateway/open-gateway.ts";
import type { IdeFinder } from "../ide/ide.ts";
import type { IdeOverrides } from "../ide/overrides.ts";
import { openMemoryLog } from "../log/memory/open-memory-log.ts";
import { openSqliteLog } from "../log/sqlite/open-sqlite-log.ts";
import type { LogStore } from "../log/store.ts";
import type { Models } from "../models/model.ts";
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
  const models = openModels(async (signal) => (await servers.find(signal)).getUserStatus(signal), { clock });
  const { store, setAside } = await openStore(options);
  const turns = openTurns({
    store,
    backends: openBackends({ ...servers, clock }),
    clock,
    graceMs: options.graceMs,
    implicitJoins: options.implicitJoins,
    owner: instance,
    layout: (request, model) => layoutPrompt(request, { ...model, contextTokens: undefined }).prompt,
    transforms: () => [],
    countTokens: estimateTokens,
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
    setAside,
    async close() {
      await turns.stop();
      await store.close();
      finder.close();
    },
  };
}

async function openStore({
  storeFile,
  io,
}: ComposeOptions): Promise<{ readonly store: LogStore; readonly setAside: string | undefined }> {
  if (storeFile === undefined) return { store: openMemoryLog({ clock: io.clock }), setAside: undefined };
  return openSqliteLog({ path: storeFile, clock: io.clock });
}

function describe(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
