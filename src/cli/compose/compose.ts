import { randomUUID } from "node:crypto";
import type { OpenBackends } from "../../backends/open-backend.ts";
import { Emitter, type EventSource } from "../../base/emitter.ts";
import type { MillraceError } from "../../base/errors.ts";
import type { Secret } from "../../base/secret.ts";
import type { Listener } from "../../gateway/http/listen.ts";
import { GatewayMetrics } from "../../gateway/metrics/metrics.ts";
import type { OpenGateway } from "../../gateway/open-gateway.ts";
import type { IdeFinder } from "../../ide/ide.ts";
import type { Models } from "../../models/model.ts";
import type { Turns } from "../../turns/turns.ts";
import { consentCheck } from "../gateway-process/consent.ts";
import { followKeyFile } from "../gateway-process/key-file.ts";
import { ownerName } from "../gateway-process/owner.ts";
import { pausable, readPause } from "../gateway-process/pause-file.ts";
import { composeKeys } from "../keys/compose-keys.ts";
import { turnLimit } from "../keys/turn-limit.ts";
import { version } from "../package-files.ts";
import { sendTraces } from "../telemetry/otlp-traces.ts";
import { composeGateway } from "./compose-gateway.ts";
import { composeIdeFinder, composeSchemas } from "./compose-ide.ts";
import { composeMeter, startMeter } from "./compose-meter.ts";
import type { ComposeOptions } from "./compose-options.ts";
import { openStore } from "./compose-store.ts";
import { composeTurns, type TurnParts } from "./compose-turns.ts";
import { composeUpstream } from "./compose-upstream.ts";
import { rememberWindows } from "./context-windows.ts";
import type { GatewayLifecycle } from "./lifecycle.ts";
import { logLifecycle } from "./log-lifecycle.ts";
import { promptAccount } from "./prompt-account.ts";
import { StartingIde } from "./starting-ide.ts";

/** Everything that a gateway process is made of, wired. */
export interface GatewayParts {
  readonly instance: string;
  readonly events: EventSource<GatewayLifecycle>;
  /** The owner's key, as its file has it now. */
  readonly ownerKey: () => Secret;
  readonly finder: IdeFinder;
  readonly backends: OpenBackends;
  readonly models: Models;
  readonly turns: Turns;
  readonly gateway: OpenGateway;
  /** The store was found damaged when it was opened: where its file is kept. */
  readonly damage: { readonly copy: string } | undefined;
  /** Turns in the store that cannot be read, because the key that sealed them is lost. */
  readonly unreadableTurns: number;
  /** Why turns are kept in memory for now, if the store failed as it was opened. */
  readonly degradedBy: MillraceError | undefined;
  /** From now on this many turns may run at the same time in one IDE: 0 for any number, undefined for the default. */
  limitTurns(most: number | undefined): void;
  /** Frees the port, ends or hands over running turns, sends their readers an error, then frees everything. */
  close(listening?: Pick<Listener, "stopAccepting" | "close">): Promise<void>;
}

/** The one place where the parts of a gateway meet. */
export async function compose(options: ComposeOptions): Promise<GatewayParts> {
  const { io, log, folder, storeFile, redis } = options;
  const { clock } = io;
  const instance = randomUUID();
  const owner = ownerName(instance);

  const events = new Emitter<GatewayLifecycle>();
  logLifecycle(events, log, { store: redis?.shown ?? storeFile, file: storeFile });
  const metrics = new GatewayMetrics(version());
  metrics.subscribe(events);

  const { otlp: receiver } = options;
  const traces = receiver === undefined ? undefined : sendTraces({ receiver, version: version(), clock, log, events });

  const schemas = composeSchemas(io);
  const finder = composeIdeFinder(io, options.overrides, { owner, schemas, events });
  const checkConsent = consentCheck({ folder, accept: options.accept, nowMs: () => clock.now() });
  const upstream = composeUpstream({ ...options, finder, owner, events, checkConsent });
  const { agents, backends, journal, servers } = upstream;
  const limitOf: TurnParts["limitOf"] = async (model, signal) =>
    (await servers.find(signal)).messageLimit(model, signal);
  const starting = new StartingIde(finder, clock);
  const { models, contextTokens } = rememberWindows(starting.models(upstream.models));

  const opened = await openStore({ ...options, redis, clock, events });
  const { store } = opened;
  const usage = composeMeter({
    io,
    finder,
    folder,
    onlyHome: options.overrides.onlyHome,
    storeFile,
    ownsFile: redis !== undefined,
    events,
  });
  const nameOf = (uid: string) => models.nameOf(uid);
  const keys = composeKeys({ ...options, clock, nameOf });
  const isPaused = () => readPause(options.pauseFile) !== undefined;
  const prompted = starting.backends(backends);
  let { mostTurns } = options;
  let limitChanged = () => {};
  const limitNow = () => turnLimit(mostTurns, keys.all().values(), clock.now());
  const turns = composeTurns({
    ...options,
    clock,
    store,
    backends: prompted,
    events,
    journal,
    owner,
    account: redis === undefined ? undefined : promptAccount(finder, servers, clock),
    limitOf,
    contextTokens,
    free: () => upstream.models.free(),
    admission: pausable(isPaused, keys.admission),
    limits: {
      mostTurns: () => limitNow().most,
      isPaused,
      onChanged: (listener) => (limitChanged = listener),
    },
  });
  const metering = startMeter({ ...usage, clock, turns, events, nameOf, keyOf: (caller) => keys.nameOf(caller) });

  const { meter } = usage;
  const ownerKey = options.keyFile === undefined ? () => options.key : followKeyFile(options.keyFile, options.key);
  const parts = {
    ownerKey,
    finder,
    schemas,
    agents,
    backends,
    models,
    contextTokens,
    opened,
    turns,
    meter,
    keys,
    limitNow,
  };
  const gateway = composeGateway({ options, instance, events, metrics, ...parts });

  return {
    instance,
    events,
    ownerKey,
    finder,
    backends,
    models,
    turns,
    gateway,
    damage: opened.damage(),
    unreadableTurns: opened.unreadableTurns,
    degradedBy: opened.degradedBy(),
    limitTurns(most) {
      mostTurns = most;
      limitChanged();
    },
    async close(listening) {
      await listening?.stopAccepting();
      await metering.close();
      await turns.stop(); // open streams end with an error that makes their clients come back
      await listening?.close();
      await agents.close();
      await store.close();
      await traces?.close();
      finder.close();
    },
  };
}
