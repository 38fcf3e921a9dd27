import module from "node:module";
import process from "node:process";
import { systemClock } from "../src/base/clock.ts";
import { JsonRpc, type RequestHandler } from "./acp/json-rpc.ts";
import type { StartOrder } from "./control.ts";
import type { Server } from "./server.ts";

/*
 * The stand-in's language server as a process of its own. It is started by `startSimulator`, which is its editor: the
 * channel between them is the parent pipe, and when it closes the server ends, as the real one does.
 */

let server: Promise<Server> | undefined;
const rpc = new JsonRpc((line) => process.send?.(line));

async function start(order: StartOrder): Promise<Server> {
  if (order.compileCache !== undefined) module.enableCompileCache?.(order.compileCache); // before what is large is loaded
  const { startServer } = await import("./server.ts");
  const started = await startServer(order, systemClock, {
    restart: () => rpc.notify("restart", {}),
    spent: (use) => rpc.notify("spent", use),
  });
  const { rpcPort, tlsPort } = started.ports;
  if (tlsPort === undefined) {
    process.stderr.write(`Language server listening on random port at ${rpcPort}\n`);
  } else {
    process.stderr.write(`Language server listening on random port at ${tlsPort} for HTTPS (gRPC)\n`);
    process.stderr.write(`Language server listening on random port at ${rpcPort} for HTTP\n`);
  }
  return started;
}

async function answer(method: string, given: unknown): Promise<RequestHandler> {
  const [first, ...rest] = given as readonly unknown[]; // our own parent has checked the arguments
  if (method === "start") {
    server = start(first as StartOrder);
    server.catch((error: unknown) => {
      process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
      process.exitCode = 1;
      process.disconnect();
    });
    return { result: (await server).ports };
  }
  if (server === undefined) throw new Error("the server has not been started");
  const { calls } = await server;
  const call = calls[method as keyof typeof calls] as (...all: readonly unknown[]) => unknown; // as above
  return { result: await call(first, ...rest) };
}

process.on("message", (line) => rpc.receive(String(line), answer));

async function end(): Promise<void> {
  process.stderr.write("Language server shutting down\n");
  await (await server)?.close();
}

process.on("disconnect", () => {
  process.stderr.write(`Parent pipe closed on language server process ${process.pid}\n`);
  end().then(
    () => process.exit(),
    () => process.exit(1),
  );
});
// A terminal's Ctrl-C reaches the whole group; the editor decides when the server ends.
process.on("SIGINT", () => {});

if (process.send === undefined) {
  process.stderr.write("This is the language server of the Millrace simulator; start it with: millrace simulate\n");
  process.exitCode = 64;
}
