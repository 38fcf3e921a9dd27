import { createServer } from "node:http";
import { listening } from "./temporary.ts";

/** A proxy that answers nothing of use and writes down each request: `GET http://127.0.0.1:1/`, `CONNECT 127.0.0.1:1`. */
export async function swallowingProxy() {
  const seen: string[] = [];
  const server = createServer((request, response) => {
    seen.push(`${request.method} ${request.url}`);
    response.writeHead(502).end();
  });
  server.on("connect", (request, socket) => {
    seen.push(`CONNECT ${request.url}`);
    socket.end("HTTP/1.1 502 no\r\n\r\n");
  });
  const url = `http://127.0.0.1:${await listening(server)}`;
  const names = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"];
  return { seen, env: Object.fromEntries(names.map((name) => [name, url])) };
}
