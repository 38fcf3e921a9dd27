import { Agent as HttpAgent } from "node:http";
import type { Http2Session } from "node:http2";
import { Agent as HttpsAgent } from "node:https";
import type { Interceptor, Transport } from "@connectrpc/connect";
import {
  compressionGzip,
  createConnectTransport,
  createGrpcTransport,
  Http2SessionManager,
} from "@connectrpc/connect-node";
import type { Endpoint } from "./endpoint.ts";

const mebibyte = 1024 * 1024;

export interface TransportOptions {
  /** The largest answer taken, in bytes after decompression; checked before memory is taken. */
  readonly readMaxBytes?: number;
  readonly interceptors?: readonly Interceptor[];
}

/** One server's connection. `close` ends it and whatever runs on it. */
export interface OpenTransport {
  readonly transport: Transport;
  close(): void;
}

/**
 * Opens the way to a language server: gRPC over one HTTP/2 connection, or Connect over kept-alive HTTP/1.1 ones; with TLS
 * a self-signed certificate is taken from loopback hosts only. Nothing is sent until the first call. The only place that
 * knows there are several protocols.
 *
 * Source: facts/language-server.md, 3.1, 3.2 and 3.7.
 */
export function openTransport(endpoint: Endpoint, options: TransportOptions = {}): OpenTransport {
  const tlsOptions = { rejectUnauthorized: !isLoopback(endpoint.host) };
  const common = {
    baseUrl: baseUrl(endpoint),
    interceptors: [csrfInterceptor(endpoint), ...(options.interceptors ?? [])],
    acceptCompression: [compressionGzip],
    readMaxBytes: options.readMaxBytes ?? 64 * mebibyte,
  };
  switch (endpoint.protocol) {
    case "grpc": {
      const sessionManager = new Http2SessionManager(
        common.baseUrl,
        { pingIntervalMs: 20_000, pingTimeoutMs: 5_000 }, // a connection that slept longer is tried before it is used
        // The default window of 64 KiB triples the time of a large answer; many turns share the session's memory.
        { ...tlsOptions, settings: { initialWindowSize: 4 * mebibyte }, maxSessionMemory: 256 },
      );
      return {
        transport: createGrpcTransport({ ...common, sessionManager: guarded(sessionManager) }),
        close: () => sessionManager.abort(),
      };
    }
    case "connect":
    case "connect-json": {
      const agentOptions = { keepAlive: true, maxFreeSockets: 4 };
      const agent = endpoint.tls ? new HttpsAgent({ ...agentOptions, ...tlsOptions }) : new HttpAgent(agentOptions);
      return {
        transport: createConnectTransport({
          ...common,
          httpVersion: "1.1",
          nodeOptions: { agent },
          useBinaryFormat: endpoint.protocol === "connect",
        }),
        close: () => agent.destroy(),
      };
    }
    default:
      return endpoint.protocol satisfies never;
  }
}

/**
 * The same manager, with every session guarded: a session that fails while the manager is closed reports its error only
 * once its socket has gone, when the manager no longer listens, and an error that nobody listens to ends the process. Also
 * where the window of the whole connection is widened, which is 64 KiB however wide those of its streams are.
 */
function guarded(
  manager: Http2SessionManager,
): Pick<Http2SessionManager, "authority" | "request" | "notifyResponseByteRead"> {
  const known = new WeakSet<Http2Session>();
  return {
    authority: manager.authority,
    async request(method, path, headers, options) {
      const stream = await manager.request(method, path, headers, options);
      const { session } = stream;
      if (session !== undefined && !known.has(session)) {
        known.add(session);
        session.on("error", () => {}); // the calls that ran on it have failed with it already
        if (!session.destroyed) session.setLocalWindowSize(16 * mebibyte);
      }
      return stream;
    },
    notifyResponseByteRead: (stream) => manager.notifyResponseByteRead(stream),
  };
}

/** Whether a host is this machine's loopback: 127.0.0.0/8, `::1`, `localhost`. */
export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || host === "[::1]" || /^127(?:\.\d{1,3}){3}$/.test(host);
}

/** Scheme, host and port, with IPv6 addresses in brackets. */
export function baseUrl(endpoint: Pick<Endpoint, "host" | "port" | "tls">): string {
  const host = endpoint.host.includes(":") && !endpoint.host.startsWith("[") ? `[${endpoint.host}]` : endpoint.host;
  return `${endpoint.tls ? "https" : "http"}://${host}:${endpoint.port}`;
}

function csrfInterceptor(endpoint: Endpoint): Interceptor {
  return (next) => (request) => {
    const token = endpoint.csrfToken.reveal(); // goes on the wire here
    if (token !== "") request.header.set("x-codeium-csrf-token", token);
    return next(request);
  };
}
