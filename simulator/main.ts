import module from "node:module";
import process from "node:process";
import { systemClock } from "../src/base/clock.ts";
import type { Notice, Order, StartOrder } from "./control.ts";
import type { Server } from "./server.ts";

/*
 * The stand-in's language server as a process of its own. It is started by `startSimulator`, which is its editor: the
 * channel between them is the parent pipe, and when it closes the server ends, as the real one does.
 */

let server: Promise<Server> | undefined;

function tell(notice: Notice): void {
  process.send?.(notice);
}

async function start(order: StartOrder): Promise<Server> {
  if (order.compileCache !== undefined) module.enableCompileCache?.(order.compileCache); // before what is large is loaded
  const { startServer } = await import("./server.ts");
  const started = await startServer(order, systemClock, {
    restart: () => tell({ kind: "restart" }),
    spent: (use) => tell({ kind: "spent", use }),
  });
  const { rpcPort, tlsPort } = started.ports;
  if (tlsPort === undefined) {
    process.stderr.write(`Language server listening on random port at ${rpcPort}\n`);
  } else {
    process.stderr.write(`Language server listening on random port at ${tlsPort} for HTTPS (gRPC)\n`);
    process.stderr.write(`Language server listening on random port at ${rpcPort} for HTTP\n`);
  }
  tell({ kind: "ready", ports: started.ports });
  return started;
}

async function call(order: Exclude<Order, StartOrder>): Promise<unknown> {
  if (server === undefined) throw new Error("the server has not been started");
  const { calls } = await server;
  const named = calls[order.name] as (...given: readonly unknown[]) => unknown; // our own parent has checked the arguments
  return await named(...order.arguments);
}

process.on("message", (order: Order) => {
  if (order.kind === "start") {
    server = start(order);
    server.catch((error: unknown) => {
      process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
      process.exitCode = 1;
      process.disconnect();
    });
    return;
  }
  call(order).then(
    (answer) => tell({ kind: "answer", id: order.id, answer }),
    (error: unknown) => tell({ kind: "failed", id: order.id, message: String(error) }),
  );
});

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
