import { statSync } from "node:fs";
import { join } from "node:path";
import { lookAtHosts } from "../../backends/acp/host/hosts.ts";
import { agentOfModel } from "../../backends/backend.ts";
import type { Clock } from "../../base/clock.ts";
import { Emitter } from "../../base/emitter.ts";
import { processRuns } from "../../base/node/process-exists.ts";
import { estimateTokens } from "../../base/token-estimate.ts";
import { readDashboard } from "../../gateway/dashboard/dashboard-files.ts";
import type { Listener } from "../../gateway/http/listen.ts";
import type { GatewayLog } from "../../gateway/http/log.ts";
import type { StoreState } from "../../gateway/http/options.ts";
import { GatewayMetrics } from "../../gateway/metrics/metrics.ts";
import { openGateway } from "../../gateway/open-gateway.ts";
import { openStreams } from "../../gateway/streams/open-streams.ts";
import { defaultRetention } from "../../log/store.ts";
import { openSchemas } from "../../schema/open-schemas.ts";
import { openTurns } from "../../turns/open-turns.ts";
import { layoutPrompt } from "../../turns/prompt/layout.ts";
import type { RefusalsOptions } from "../../turns/refusals.ts";
import type { UsageLifecycle } from "../../usage/lifecycle.ts";
import type { LimitsSnapshot } from "../../usage/limits.ts";
import { quotaAdvice, quotaReset } from "../../usage/quota-reset.ts";
import { hostsFolder } from "../agents/agent-spec.ts";
import { agentStats } from "../agents/compose-agents.ts";
import { sessionFile } from "../gateway-process/gateway-file.ts";
import { type GatewayLifecycle, logLifecycle } from "../gateway-process/gateway-log.ts";
import type { Home } from "../gateway-process/home.ts";
import { followKeyFile, readOrMakeKey } from "../gateway-process/key-file.ts";
import { pausable, readPause } from "../gateway-process/pause-file.ts";
import { composeKeys } from "../keys/compose-keys.ts";
import { openDoors } from "../keys/doors.ts";
import { turnLimit } from "../keys/key-record.ts";
import { dashboardFolder, version } from "../package-files.ts";
import { continuityIdleMs, type GatewayCommandOptions, overridesOf } from "../serve/gateway-options.ts";
import { ideMemory } from "../serve/ide-in-use.ts";
import type { Settings } from "../settings.ts";
import type { Io } from "../terminal/output.ts";
import { composeIdeFinder } from "./compose-ide.ts";
import { composeMeter, startMeter } from "./compose-meter.ts";
import { type OpenedStore, openStore } from "./compose-store.ts";
import { composeUpstream } from "./compose-upstream.ts";
import { consentBook, consentCheck } from "./consent.ts";
import { healthDetails } from "./health-details.ts";
import { ideVerdicts } from "./ide-verdicts.ts";
import { trajectoryNotes } from "./own-cascades.ts";

/** A gateway's options, and the process that it runs in. */
export interface ComposeOptions {
  readonly io: Io;
  readonly settings: Settings;
  readonly options: GatewayCommandOptions & {
    readonly model?: string | undefined;
    readonly showTexts?: "on" | "off";
  };
  readonly log: GatewayLog;
  readonly home: Pick<Home, "id" | "instance">;
  readonly allowedHosts?: readonly string[];
  readonly allowedOrigins?: readonly string[];
}

/** Everything that a gateway process is made of, wired. */
export type GatewayParts = Awaited<ReturnType<typeof compose>>;

/** The one place where the parts of a gateway meet. */
export async function compose({ io, settings, options, log, home, ...allowed }: ComposeOptions) {
  const { clock } = io;
  const { folder } = settings;
  const overrides = overridesOf(io, options);
  const retention = { ...defaultRetention, keptMs: options.retention };
  const key = readOrMakeKey(settings.keyFile);
  const ownerKey = followKeyFile(settings.keyFile, key);
  const storeFile = options.store === "memory" ? undefined : settings.storeFile;
  const redis = options.store === "redis" ? options.redisUrl : undefined;
  const keepsConversations = options.continuity === "on";
  const { instance } = home;
  const owner = `${home.id}/${instance}`;

  const events = new Emitter<GatewayLifecycle>();
  logLifecycle(events, log, { store: redis?.shown ?? storeFile, file: storeFile });
  const metrics = new GatewayMetrics(version());
  metrics.subscribe(events);

  const consent = { folder, accept: options.accept, nowMs: () => clock.now() };
  const schemas = openSchemas();
  const finder = composeIdeFinder(io, overrides, { schemas, events });
  const remembered = ideMemory(settings.ideFile, overrides);
  const upstream = composeUpstream(
    {
      io,
      finder,
      backend: options.backend,
      acpCommand: options.acpCommand,
      ideTools: options.ideTools,
      preferred: options.model,
      toolWay: keepsConversations ? options.tools : "prose", // a prompt that waits is a conversation that is kept
      owner,
      events,
      waitsForIde: true,
      checkConsent: consentCheck(consent),
    },
    remembered,
  );
  const { agents, backends, journal, servers, starting } = upstream;
  const models = starting.models(upstream.models);
  const { contextTokens, priceOf } = upstream.models;
  const nameOf = (uid: string) => models.nameOf(uid);

  const { logKeyFile } = settings;
  const opened = await openStore({ storeFile, redis, home: home.id, logKeyFile, retention, clock, events });
  const { store } = opened;
  const ownsFile = redis !== undefined; // with a shared server the file holds the usage history alone
  const usage = composeMeter({ io, finder, folder, onlyHome: overrides.onlyHome, storeFile, ownsFile, events });
  const { meter } = usage;

  const keys = composeKeys({ key, keysFile: settings.keysFile, clock, log, nameOf });
  const isPaused = () => readPause(settings.pauseFile) !== undefined;
  const limitNow = () => turnLimit(options.maxTurns, keys.all().values(), clock.now());
  const turns = openTurns({
    store,
    backends,
    graceMs: options.grace,
    clock,
    events,
    implicitJoins: true,
    owner,
    layout: (request, model, how) =>
      layoutPrompt(request, { ...model, contextTokens: contextTokens(model.uid) }, how).prompt,
    countTokens: estimateTokens,
    limitOf: async (model, signal) => (await servers.find(signal)).messageLimit(model, signal),
    resetOf: quotaResets(events, clock),
    adviceOf: (quota, isRefused) => {
      const others = upstream.models.free().filter(({ uid }) => !isRefused(uid));
      return quotaAdvice(quota, others, clock.now());
    },
    trajectoryNotes: trajectoryNotes(journal, owner, clock),
    ...(keepsConversations && { continuity: { idleMs: continuityIdleMs } }),
    admission: pausable(isPaused, keys.admission),
    limits: { mostTurns: () => limitNow().most, isPaused },
  });
  const keyNameOf = (caller: string) => keys.nameOf(caller);
  const metering = startMeter({ ...usage, turns, events, nameOf, priceOf, keyOf: keyNameOf });

  const ides = ideVerdicts(finder, schemas, { clock, isAlive: processRuns });
  const gateway = openGateway({
    turns,
    events,
    meter,
    rpc: openStreams(turns),
    metrics,
    storeState: () => describeStore(opened),
    pauseState: () => readPause(settings.pauseFile) ?? null,
    turnLimit: limitNow,
    consents: consentBook(finder, { ...consent, namesAgent: options.acpCommand !== undefined }),
    logBytes: () => (storeFile === undefined || ownsFile ? undefined : bytesOf(storeFile)),
    dashboard: readDashboard(dashboardFolder),
    sessionStore: sessionFile(join(folder, "sessions.json")),
    showsTexts: options.showTexts === "on",
    keptMs: retention.keptMs,
    ides: ides.read,
    idesMark: ides.mark,
    agents: () => agentStats(agents),
    healthDetails: healthDetails(finder, backends, { clock, log, agents: agents.opened }),
    ideOf: (modelUid = "") => agentOfModel(modelUid) ?? backends.ide,
    models,
    contextTokens,
    clock,
    log,
    instance,
    keys: [{ name: "owner", key }],
    ownerKey,
    issued: (given) => keys.find(given),
    async lendKey(lent, until) {
      const found = keys.lend(lent, until);
      return lent.door === undefined ? undefined : doors.lend(lent.door, found, until);
    },
    adjustDoors: () => doors.adjust(),
    issuedKeys: () => keys.shown(),
    keyNameOf,
    version: version(),
    ...allowed,
  });
  const doors = openDoors({ keys, gateway, clock });

  return {
    events,
    doors,
    /** The owner's key, as its file has it now. */
    ownerKey,
    finder,
    backends,
    models,
    gateway,
    /** The store was found damaged when it was opened: where its file is kept. */
    damage: opened.damage(),
    /** Turns in the store that cannot be read, because the key that sealed them is lost. */
    unreadableTurns: opened.unreadableTurns,
    /** Why turns are kept in memory for now, if the store failed as it was opened. */
    degradedBy: opened.degradedBy(),
    /** Whether a turn runs or waits, or an agent's prompt waits for a client's results. */
    async isWorking() {
      const { running, waiting } = turns.load();
      return running + waiting > 0 || (await lookAtHosts(hostsFolder(folder))).some((host) => host.running > 0);
    },
    /** Frees the port, ends or hands over running turns, sends their readers an error, then frees everything. */
    async close(listening?: Pick<Listener, "stopAccepting" | "close">) {
      await listening?.stopAccepting();
      await doors.stopAccepting();
      await metering.close();
      await turns.stop(); // open streams end with an error that makes their clients come back
      await listening?.close();
      await doors.close();
      await agents.close();
      await store.close();
      finder.close();
    },
  };
}

/** The reset time of the plans that pay for prompts, from the last reading; Antigravity is metered only. */
function quotaResets(events: Emitter<UsageLifecycle>, clock: Clock): RefusalsOptions["resetOf"] {
  let plans: readonly LimitsSnapshot[] = [];
  events.on("limits_changed", ({ readings }) => {
    plans = readings.map(({ snapshot }) => snapshot).filter(({ ide }) => ide !== "antigravity");
  });
  return (window) => quotaReset(plans, clock.now(), window);
}

function describeStore(opened: OpenedStore): StoreState {
  const error = opened.degradedBy();
  return {
    degraded: error !== undefined,
    why: error?.message ?? null,
    hint: error?.hint ?? null,
    damaged: opened.damage() ?? null,
  };
}

/** The size of the SQLite file, in bytes, with the part that is not merged into it yet. */
function bytesOf(file: string): number {
  return [file, `${file}-wal`].reduce((sum, path) => sum + (statSync(path, { throwIfNoEntry: false })?.size ?? 0), 0);
}
