import { type AgentOptions, Agent as HttpAgent } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import type { Duplex } from "node:stream";
import { closedHere, type Endpoint } from "./endpoint.ts";
import { type CheckHolder, openSocket } from "./open-socket.ts";

type SocketCallback = (error: Error | null, socket: Duplex) => void;

/**
 * Keep-alive HTTP/1.1 connections to a server: one for each call in flight, checked once when it is made. The most recently used
 * connection is used next. A connection that was not used for a minute is closed.
 */
export function http1Agent(endpoint: Endpoint, checkHolder: CheckHolder | undefined): HttpAgent | HttpsAgent {
  let closed = false;
  const options: AgentOptions = {
    keepAlive: true,
    maxFreeSockets: Number.POSITIVE_INFINITY,
    scheduling: "lifo",
    timeout: 60_000,
  };
  const connectSocket = async (made: SocketCallback): Promise<void> => {
    try {
      const socket = await openSocket(endpoint, { alpn: "http/1.1", checkHolder });
      if (closed) socket.destroy();
      made(closed ? closedHere() : null, socket);
    } catch (error) {
      made(error as Error, undefined as unknown as Duplex); // with an error, Node does not look at the socket
    }
  };
  const make = (made: SocketCallback): undefined => {
    void connectSocket(made);
  };
  const destroy = (all: () => void) => () => {
    closed = true;
    all();
  };
  if (endpoint.tls) {
    return new (class extends HttpsAgent {
      override createConnection(_: unknown, made: SocketCallback): undefined {
        return make(made);
      }
      override destroy = destroy(() => super.destroy());
    })(options);
  }
  return new (class extends HttpAgent {
    override createConnection(_: unknown, made: SocketCallback): undefined {
      return make(made);
    }
    override destroy = destroy(() => super.destroy());
  })(options);
}
