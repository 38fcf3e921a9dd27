import type { Server as HttpServer } from "node:http";
import type { Server } from "node:net";
import { noSuchAddress } from "../../src/base/node/loopback.ts";

/** Opens the port on 127.0.0.1, a free one for 0, and answers which it is. */
export async function listenOnLoopback(server: Server, port = 0): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error) => reject(noSuchAddress(error) ?? error));
    server.listen(port, "127.0.0.1", resolve);
  });
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the server has no port");
  return address.port;
}

/** Stops the server with all its connections. */
export function closeWithConnections(server: HttpServer): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
