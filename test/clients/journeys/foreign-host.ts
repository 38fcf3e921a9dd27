import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** A host that nobody should ask: it is every other server, and every proxy, that a client is led to. */
export interface ForeignHost {
  readonly url: string;
  /** What came: method, address, headers, the beginning of the body. `CONNECT` is a proxy's. */
  readonly seen: readonly string[];
  close(): void;
}

export async function openForeignHost(): Promise<ForeignHost> {
  const seen: string[] = [];
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk: Buffer) => (body += chunk.toString()));
    request.on("end", () => {
      seen.push(`${request.method} ${request.url} ${JSON.stringify(request.headers)} ${body}`);
      response.writeHead(401, { "content-type": "application/json" }).end('{"error":{"message":"not here"}}');
    });
  });
  server.on("connect", (request, socket) => {
    seen.push(`CONNECT ${request.url}`);
    socket.on("error", () => {}); // the client may have left
    socket.end("HTTP/1.1 502 no\r\n\r\n");
  });
  server.on("upgrade", (request, socket) => {
    seen.push(`UPGRADE ${request.url} ${JSON.stringify(request.headers)}`);
    socket.destroy();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo; // it listens on TCP
  return {
    url: `http://127.0.0.1:${port}`,
    seen,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}
