import http from "node:http";

/** The editor's own server, which the language server reports to. It is not the language server. */
export interface ExtensionServer {
  readonly port: number;
  close(): Promise<void>;
}

/** Opens it on loopback. It refuses calls without its own token. Source: docs/wire/processes.md, "Start of a server". */
export async function startExtensionServer(): Promise<ExtensionServer> {
  const server = http.createServer((_, response) => {
    response.writeHead(403, { "content-type": "text/plain" }).end("Invalid CSRF token");
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", resolve);
  });
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the extension server has no port");
  return {
    port: address.port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
