import type { IncomingMessage, ServerResponse } from "node:http";
import type { Http2ServerRequest, Http2ServerResponse } from "node:http2";
import { bestEffort } from "../base/async.ts";
import { Emitter } from "../base/emitter.ts";
import { writeJson } from "../base/json.ts";
import { afterRead } from "../base/node/after-read.ts";
import { gatewayProof } from "../base/node/gateway-proof.ts";
import { loopbackHosts } from "../base/node/loopback.ts";
import { Slices } from "../base/node/slices.ts";
import { Secret } from "../base/secret.ts";
import type { DashboardFiles } from "./dashboard/dashboard-files.ts";
import { openSessions, type SessionStore } from "./dashboard/dashboard-sessions.ts";
import { Bodies } from "./http/body.ts";
import type { GatewayParts, RouteParts } from "./http/context.ts";
import { authenticate, callerDigest, type Door, type GuardPolicy, openGuard, ownersKey } from "./http/guard.ts";
import { inMemory } from "./http/in-memory.ts";
import { type Listener, type ListenOptions, listen } from "./http/listen.ts";
import { defaultLimits } from "./http/options.ts";
import { RefusedBook } from "./http/refused.ts";
import { openResponsesSocket } from "./http/responses-socket.ts";
import { guarded, isFor, type OpenRpc, type RpcHandler } from "./http/rpc-handler.ts";
import { defaultTiming, type Timing } from "./http/timing.ts";
import { GatewayMetrics } from "./metrics/metrics.ts";
import { type Gateway, openApp } from "./open-app.ts";
import { openPdfReader } from "./pdf/pdf-reader.ts";

/** The parts that the gateway makes itself. */
type OwnPart = "metrics" | "waits" | "readPdf" | "sessions" | "events" | "stopping" | "state" | "prove" | "refused";

/** All that a gateway is given: what its routes are handed, and what stands around them. */
export interface GatewayOptions extends Omit<GatewayParts, OwnPart>, Pick<Gateway, "ideOf"> {
  /** At least one, each of at least 16 characters: a gateway without a key does not open. */
  readonly keys: GuardPolicy["keys"];
  /** Finds a key that is not in `keys`, as `GuardPolicy` has it. */
  readonly issued?: GuardPolicy["issued"];
  /** Random, made at each start: a part of the proof that tells this gateway from another program on its port. */
  readonly instance: string;
  /** The gateway's metrics, if other parts count into them as well. */
  readonly metrics?: GatewayMetrics;
  /** Another text once the answer of `ides` may be another one. Cheap: open pages ask several times a second. */
  readonly idesMark?: () => string;
  /** Where the dashboard's sessions outlive the gateway; they end with it otherwise. */
  readonly sessionStore?: SessionStore;
  /** Whether the dashboard shows prompts and answers in a browser whose owner did not choose; false by default. */
  readonly showsTexts?: boolean;
  /** Host names that requests may carry beside the loopback ones; no ports. */
  readonly allowedHosts?: readonly string[];
  /** Exact origins (`https://app.example`) whose pages may call; none by default. */
  readonly allowedOrigins?: readonly string[];
  readonly maxBodyBytes?: number;
  /** Number of requests that run at the same time. Beyond it, a request with a body gets a refusal that asks for a retry. */
  readonly mostOpen?: number;
  readonly timing?: Partial<Timing>;
  /** Takes `/aiserver.v1.*` paths and, on the same port, HTTP/2. */
  readonly rpc?: OpenRpc;
  /** Events of the turns and the meter, for the dashboard; without them, open pages learn of changes late. */
  readonly events?: GatewayParts["events"];
}

/** A gateway: a handler of requests, and a way to put it on a port. */
export type OpenGateway = ReturnType<typeof openGateway>;

const longestChallenge = 200;

/** @throws MillraceError `invalid_request` without a proper key: a gateway never opens without a key. */
export function openGateway(options: GatewayOptions) {
  const origins = new Set(options.allowedOrigins);
  const { keys, ownerKey, issued, instance } = options;
  const policy = openGuard({ keys, origins, ownerKey, issued }, options.allowedHosts);
  const stopping = new AbortController();
  let port: number | undefined;
  const maxBodyBytes = options.maxBodyBytes ?? defaultLimits.maxBodyBytes;
  const metrics = options.metrics ?? new GatewayMetrics(options.version);
  const refused = new RefusedBook(options.clock, metrics);
  const gateway = {
    ...options,
    bodies: new Bodies(maxBodyBytes),
    stopping: stopping.signal,
    answering: () => [...listeners].reduce((sum, each) => sum + each.openAnswers(), 0),
    state: () =>
      writeJson([
        options.pauseState?.(),
        options.storeState?.(),
        options.idesMark?.(),
        refused.encode().requests,
        options.turns.blocked(),
      ]),
    prove(challenge: string) {
      const key = ownersKey(policy);
      if (port === undefined || key === undefined || challenge.length > longestChallenge) return undefined;
      return gatewayProof(key, challenge, { port, instance });
    },
    events: options.events ?? new Emitter(),
    sessions: openSessions(options.clock, stopping.signal, () => callerDigest(ownersKey(policy) ?? new Secret("")), {
      store: options.sessionStore,
      showsTexts: options.showsTexts,
    }),
    limits: { maxBodyBytes, mostOpen: options.mostOpen ?? defaultLimits.mostOpen },
    waits: { ...defaultTiming, ...options.timing },
    metrics,
    readPdf: openPdfReader(),
    refused,
  };
  const appWith = (dashboard: DashboardFiles | undefined, policy: GuardPolicy) => {
    const all = { ...gateway, dashboard };
    const routes: RouteParts = { turns: all, lists: all, models: all, keys: all, page: all, status: all };
    return openApp({ ...all, routes }, policy);
  };
  const handle = appWith(options.dashboard, policy);
  const listeners = new Set<Listener>();
  const open = async (at: Place, listenOptions: ListenOptions) => {
    const { app, policy, rpc, stop = () => {} } = at;
    const arriving = new Slices();
    const sockets = openResponsesSocket({
      app: inMemory(app),
      bodies: gateway.bodies,
      callerOf: (headers) => authenticate(policy, headers),
      limits: listenOptions.limits,
    });
    const handleRpc = rpc === undefined ? undefined : guarded(policy, rpc, gateway);
    const http1 = (incoming: IncomingMessage, outgoing: ServerResponse) => {
      if (handleRpc !== undefined && rpc !== undefined && isFor(rpc, incoming)) {
        handleRpc(incoming, outgoing);
        return;
      }
      const serve = () => {
        if (outgoing.destroyed) return; // its client left before it was looked at
        app(incoming, outgoing).catch((error: unknown) => {
          const text = error instanceof Error ? error.stack : String(error);
          gateway.log.write("error", "response broke", { error: text });
          outgoing.destroy();
        });
      };
      if (incoming.url === "/health") serve();
      else arriving.run(serve); // two hundred requests in one moment are not one turn of the event loop
    };
    const http2 = (incoming: Http2ServerRequest, outgoing: Http2ServerResponse) => {
      if (handleRpc !== undefined && rpc !== undefined && isFor(rpc, incoming)) return handleRpc(incoming, outgoing);
      const response = Object.defineProperties(outgoing, {
        destroyed: { get: () => outgoing.stream.destroyed },
        destroy: { value: () => afterRead(() => outgoing.stream.destroy()) },
      });
      http1(incoming as unknown as IncomingMessage, response as unknown as ServerResponse); // all that a handler asks of them
    };
    const listening = await listen(listenOptions, {
      http1,
      http2,
      upgrade: (incoming, socket, head) => sockets.upgrade(incoming, socket, head),
      async goodbye() {
        stop();
        sockets.close();
        await rpc?.close?.();
      },
    });
    listeners.add(listening);
    const close = () => listening.close().finally(() => listeners.delete(listening));
    return { ...listening, close };
  };
  return {
    /** Everything but the socket: guard, routes, streams. The request needs a Host header. */
    handle,
    /** Throws `invalid_request` when the port is taken (`isPortTaken`) or the host is beyond loopback. */
    async listen(listenOptions: ListenOptions): Promise<Listener> {
      const stop = () => {
        stopping.abort();
        gateway.metrics.loopLag.unwatch();
      };
      const listening = await open({ app: handle, policy, rpc: options.rpc?.(gateway), stop }, listenOptions);
      port = listening.port;
      gateway.metrics.loopLag.watch();
      void bestEffort(gateway.healthDetails?.() ?? Promise.resolve()); // `/health` never waits, so the first one finds it known
      // Pages that this very port serves may call it. Added by port, never taken from a request's own Host.
      for (const host of loopbackHosts) origins.add(`http://${host}:${listening.port}`);
      return listening;
    },
    /** A listener that needs no key, because all its requests have this one. Throws as `listen` does. */
    openDoor({ port, key, admits }: Door & Required<Pick<ListenOptions, "port" | "admits">>): Promise<Listener> {
      const hosts = new Set(loopbackHosts.map((host) => `${host}:${port}`));
      const at = { keys: [], hosts, origins: new Set(options.allowedOrigins), door: { key } };
      const app = appWith(doorPage, at);
      return open({ app, policy: at }, { host: "127.0.0.1", port, admits });
    },
  };
}

/** An app behind its guard, and what else its listener serves and stops. */
interface Place {
  readonly app: ReturnType<typeof openApp>;
  readonly policy: GuardPolicy;
  readonly rpc?: RpcHandler | undefined;
  readonly stop?: () => void;
}

/** What a program that looks for Ollama finds in place of the dashboard, which a door does not serve. */
const doorPage: DashboardFiles = new Map([
  [
    "/",
    {
      type: "text/plain; charset=utf-8",
      body: new TextEncoder().encode("Ollama is running"),
      inline: { script: [], style: [] },
      isNamedByContent: false,
    },
  ],
]);
