import type { IncomingMessage, ServerResponse } from "node:http";
import { bestEffort } from "../base/async.ts";
import { Emitter } from "../base/emitter.ts";
import { Slices } from "../base/node/slices.ts";
import { openSessions } from "./dashboard/dashboard-sessions.ts";
import type { Gateway } from "./http/context.ts";
import { openGuard } from "./http/guard.ts";
import { openHandovers } from "./http/handovers.ts";
import { type Listening, type ListenOptions, listen } from "./http/listen.ts";
import { serveNode } from "./http/node-adapter.ts";
import { guarded, isFor } from "./http/rpc-handler.ts";
import { defaultTiming } from "./http/timing.ts";
import { GatewayMetrics } from "./metrics/metrics.ts";
import { openApp } from "./open-app.ts";
import { defaultMaxBodyBytes, defaultMostOpen, type GatewayOptions } from "./options.ts";

/** A gateway: a function from request to response, and a way to put it on a port. */
export interface OpenGateway {
  /** Everything but the socket: guard, routes, streams. The request needs a Host header. */
  app(request: Request): Promise<Response>;
  /** Throws `invalid_request` when the port is taken (`isPortTaken`) or the host is beyond loopback without leave. */
  listen(options: ListenOptions): Promise<Listening>;
}

/** @throws MillraceError `invalid_request` without a proper key: a gateway never opens without a key. */
export function openGateway(options: GatewayOptions): OpenGateway {
  const origins = new Set(options.allowedOrigins);
  const { keyInFile, callerOf } = options;
  const policy = { ...openGuard(options.keys, options.allowedHosts ?? [], []), origins, keyInFile, callerOf };
  const stopping = new AbortController();
  let answering = () => 0;
  const gateway: Gateway = {
    ...options,
    stopping: stopping.signal,
    answering: () => answering(),
    events: options.events ?? new Emitter(),
    sessions: openSessions(options.clock, options.sessionStore),
    handovers: openHandovers(),
    limits: {
      maxBodyBytes: options.maxBodyBytes ?? defaultMaxBodyBytes,
      mostOpen: options.mostOpen ?? defaultMostOpen,
    },
    waits: { ...defaultTiming, ...options.timing },
    metrics: options.metrics ?? new GatewayMetrics(options.version),
  };
  const app = openApp(gateway, policy);
  const handle = async (request: Request) => app.fetch(request);
  return {
    app: handle,
    async listen(listenOptions) {
      const arriving = new Slices();
      const rpc = options.rpc?.(gateway);
      const handleRpc = rpc === undefined ? undefined : guarded(policy, rpc, gateway);
      const http1 = (incoming: IncomingMessage, outgoing: ServerResponse) => {
        if (handleRpc !== undefined && rpc !== undefined && isFor(rpc, incoming)) {
          handleRpc(incoming, outgoing);
          return;
        }
        const accept = (request: Request) => gateway.handovers.accept(request, incoming.socket);
        const serve = () => {
          if (outgoing.destroyed) return; // its client left before it was looked at
          serveNode(handle, incoming, outgoing, accept).catch((error: unknown) => {
            const text = error instanceof Error ? error.stack : String(error);
            gateway.log.write("error", "response broke", { error: text });
            outgoing.destroy();
          });
        };
        if (incoming.url === "/health") serve();
        else arriving.run(serve); // two hundred requests in one moment are not one turn of the event loop
      };
      const listening = await listen(listenOptions, {
        http1,
        ...(handleRpc === undefined ? {} : { http2: handleRpc }),
        async goodbye() {
          stopping.abort();
          gateway.metrics.loopLag.unwatch();
          await rpc?.close?.();
        },
      });
      answering = () => listening.answering();
      gateway.metrics.loopLag.watch();
      void bestEffort(gateway.healthDetails?.() ?? Promise.resolve()); // `/health` never waits, so the first one finds it known
      // Pages that this very port serves may call it. Added by port, never taken from a request's own Host.
      const scheme = listenOptions.tls === undefined ? "http" : "https";
      for (const host of ["127.0.0.1", "localhost", "[::1]"]) origins.add(`${scheme}://${host}:${listening.port}`);
      const close = async () => {
        await bestEffort(gateway.handovers.close()); // before the connections close, because they know what was read
        await listening.close();
      };
      return { ...listening, close };
    },
  };
}
