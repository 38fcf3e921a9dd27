import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createHttp2Server, createSecureServer } from "node:http2";
import { createServer as createHttpsServer } from "node:https";
import { type AddressInfo, createServer as createNetServer, type Server, type Socket } from "node:net";
import type { DescMethod } from "@bufbuild/protobuf";
import { Code, ConnectError, type ConnectRouter, type Interceptor, type ServiceImpl } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { LanguageServerService } from "../proto/windsurf/exa/language_server_pb.ts";
import { selfSignedCertificate, selfSignedKey } from "./fixtures/self-signed.ts";
import { fakeEndpoint } from "./transport/endpoint.fake.ts";
import type { Endpoint, WireProtocol } from "./transport/endpoint.ts";

export const fakeToken = "0c0ffee0-csrf-4000-8000-000000000001";

/** The methods of a test's server; a method that is left out is unimplemented, or has no path at all. */
export type FakeMethods = Partial<ServiceImpl<typeof LanguageServerService>>;

export interface RpcServer extends AsyncDisposable {
  readonly port: number;
  /** Connections accepted so far. */
  readonly connections: () => number;
  /** `POST /…/GetUserStatus application/grpc`, in order of arrival. */
  readonly requests: readonly string[];
  endpoint(protocol: WireProtocol): Endpoint;
  /** Breaks every open connection. */
  dropConnections(): void;
}

/** A small language server on a new port: all protocols of the real one, on one socket, plain or with TLS. */
export async function startRpcServer(
  methods: FakeMethods,
  options: {
    readonly tls?: boolean;
    /** The one HTTP version that is offered; both otherwise. */
    readonly alpn?: "h2" | "http/1.1";
    readonly http?: "1.1";
    /** The one content type that is taken. */
    readonly only?: string;
    readonly token?: string;
    /** A method that is not given: unimplemented, or not even a path. */
    readonly missing?: "stub" | "404";
    /** Answers hold bytes that are no message of any schema. */
    readonly garbled?: boolean;
    /** Answers are compressed, also for a client that takes none. */
    readonly gzip?: boolean;
  } = {},
): Promise<RpcServer> {
  const tls = options.tls ?? false;
  const sockets = new Set<Socket>();
  const requests: string[] = [];
  let accepted = 0;
  const handler = connectNodeAdapter({
    interceptors: [checkToken(options.token ?? fakeToken)],
    routes: (router) => {
      if (options.missing !== "404") router.service(LanguageServerService, methods);
      else for (const method of LanguageServerService.methods) offer(router, method, methods);
    },
    fallback: (_, response) => {
      response.writeHead(404, { "content-type": "text/plain" });
      response.end("404 page not found\n");
    },
  });
  const listener = (request: IncomingMessage, response: ServerResponse) => {
    requests.push(`${request.method} ${request.url?.split("/").at(-1)} ${request.headers["content-type"]}`);
    if (options.only !== undefined && request.headers["content-type"] !== options.only) {
      response.writeHead(415, { "accept-post": options.only }).end();
      return;
    }
    if (options.gzip === true) {
      request.headers["accept-encoding"] = "gzip";
      request.headers["grpc-accept-encoding"] = "gzip";
    }
    if (options.garbled === true) garble(request, response);
    else handler(request, response);
  };
  const plain = options.http === "1.1" ? createHttpServer : sniffingServer;
  const server = tls ? secureServer(listener, options.alpn) : plain(listener);
  server.on("connection", (socket: Socket) => {
    accepted++;
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    socket.on("error", () => {}); // clients go away as they like
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo; // listens on TCP
  const dropConnections = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port,
    requests,
    connections: () => accepted,
    endpoint: (protocol) => ({ ...fakeEndpoint(port, protocol, fakeToken), tls }),
    dropConnections,
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve));
      dropConnections();
      await closed;
    },
  };
}

/** An answer in the form of the protocol, with the end of a group that never began as its message. */
function garble(request: IncomingMessage, response: ServerResponse): void {
  const type = request.headers["content-type"] ?? "";
  request.resume();
  if (!type.startsWith("application/grpc")) {
    response.writeHead(200, { "content-type": type }).end(Buffer.from([0x0c]));
    return;
  }
  response.writeHead(200, { "content-type": type, trailer: "grpc-status" });
  response.addTrailers({ "grpc-status": "0" });
  response.end(Buffer.from([0, 0, 0, 0, 1, 0x0c]));
}

/** The path of this one method, if it is among the given ones. */
function offer(router: ConnectRouter, method: DescMethod, methods: FakeMethods): void {
  if (!Object.hasOwn(methods, method.localName)) return;
  const offered = { ...LanguageServerService, methods: [method], method: { [method.localName]: method } };
  router.service(offered as unknown as typeof LanguageServerService, methods); // that service with less in it
}

type Listener = (request: IncomingMessage, response: ServerResponse) => void;

function secureServer(listener: Listener, alpn?: "h2" | "http/1.1"): Server {
  const identity = { key: selfSignedKey, cert: selfSignedCertificate };
  if (alpn === "http/1.1") return createHttpsServer(identity, listener);
  const secure = createSecureServer(
    { ...identity, allowHTTP1: alpn === undefined },
    listener as never, // http2's compatibility objects are what the adapter takes
  );
  return secure;
}

/** HTTP/1.1 and HTTP/2 with prior knowledge on one port, told apart by the whole preface, not by its first byte. */
function sniffingServer(listener: Listener): Server {
  const preface = Buffer.from("PRI * HTTP/2.0");
  const h1 = createHttpServer(listener);
  const h2 = createHttp2Server(listener as never); // as above
  return createNetServer((socket) => {
    let got = Buffer.alloc(0);
    const onReadable = () => {
      for (let chunk: Buffer | null = socket.read(); chunk !== null; chunk = socket.read()) {
        got = Buffer.concat([got, chunk]);
      }
      if (got.length === 0) return;
      const compared = Math.min(got.length, preface.length);
      const matches = got.subarray(0, compared).equals(preface.subarray(0, compared));
      if (matches && got.length < preface.length) return;
      socket.removeListener("readable", onReadable);
      socket.unshift(got);
      (matches ? h2 : h1).emit("connection", socket);
    };
    socket.on("readable", onReadable);
  });
}

function checkToken(token: string): Interceptor {
  return (next) => (request) => {
    const given = request.header.get("x-codeium-csrf-token");
    if (given === token) return next(request);
    const what = given === null ? "missing CSRF token" : "invalid CSRF token";
    throw new ConnectError(what, Code.Unauthenticated);
  };
}
