import http from "node:http";
import { closeWithConnections, listenOnLoopback } from "./wire/loopback.ts";

/** The editor's own server, which the language server reports to. It is not the language server. */
export interface ExtensionServer {
  readonly port: number;
  close(): Promise<void>;
}

/** Opens it on loopback. It refuses calls without its own token. Source: docs/dev/wire/processes.md, "Start of a server". */
export async function startExtensionServer(): Promise<ExtensionServer> {
  const server = http.createServer((_, response) => {
    response.writeHead(403, { "content-type": "text/plain" }).end("Invalid CSRF token");
  });
  return {
    port: await listenOnLoopback(server),
    close: () => closeWithConnections(server),
  };
}
