import { connect, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { type Endpoint, hostName, isLoopback } from "./endpoint.ts";

/** Asks who holds the port of a connection that was just made. Rejects when nothing may be sent over it. */
export type CheckHolder = () => Promise<void>;

/**
 * Makes one TCP connection to a server, with TLS if the server wants it, and checks its holder before anything but a handshake is
 * sent. A self-signed certificate is accepted from loopback hosts only.
 *
 * @throws Node's error of the connection, or the check's error. Source: docs/dev/wire/language-server.md, "Connections".
 */
export async function openSocket(
  endpoint: Pick<Endpoint, "host" | "port" | "tls">,
  { alpn, checkHolder }: { readonly alpn: "h2" | "http/1.1"; readonly checkHolder?: CheckHolder | undefined },
): Promise<Socket> {
  const socket = await connected(endpoint, alpn);
  try {
    await checkHolder?.();
  } catch (error) {
    socket.destroy();
    throw error;
  }
  return socket;
}

function connected(
  { host, port, tls }: Pick<Endpoint, "host" | "port" | "tls">,
  alpn: "h2" | "http/1.1",
): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const name = hostName(host);
    const socket = tls
      ? connectTls({ host: name, port, ALPNProtocols: [alpn], rejectUnauthorized: !isLoopback(host) })
      : connect({ host: name, port });
    socket.setNoDelay(true);
    socket.once("error", reject);
    socket.once("close", () => reject(new Error("The socket was closed while it was connected."))); // nothing, once it is there
    socket.once(tls ? "secureConnect" : "connect", () => {
      socket.removeListener("error", reject);
      socket.on("error", () => {}); // the protocol on top hears of it as well
      resolve(socket);
    });
  });
}
