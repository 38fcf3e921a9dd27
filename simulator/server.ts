import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../src/base/clock.ts";
import { antigravityProduct } from "./antigravity/antigravity.ts";
import type { ServerCalls, ServerPorts, StartOrder } from "./control.ts";
import { CallFaults } from "./faults/call-faults.ts";
import type { RpcFault } from "./faults/rpc-fault.ts";
import { profiles } from "./profile.ts";
import { Observations } from "./report.ts";
import { type EditorSide, windsurfProduct } from "./windsurf-product.ts";
import { guard } from "./wire/guard.ts";
import { type Listener, listenAsDecoy, listenForLsp, listenForRpc, listenForTlsAndPlain } from "./wire/listener.ts";
import { selfSigned } from "./wire/self-signed.ts";

/** A language server that runs in this process. */
export interface Server {
  readonly ports: ServerPorts;
  readonly calls: Omit<ServerCalls, "start">;
  close(): Promise<void>;
}

/** Builds the parts of the server and opens its ports. */
export async function startServer(order: StartOrder, clock: Clock, editor: EditorSide): Promise<Server> {
  const { config } = order;
  const observations = new Observations();
  const product =
    profiles[config.profile].family === "antigravity"
      ? antigravityProduct(order, clock)
      : await windsurfProduct(order, clock, observations, editor);
  const faults = new CallFaults<RpcFault>(({ rpc }) => rpc);
  faults.replace(order.faults);
  const handler = guard({
    csrfToken: order.csrfToken,
    knows: (rpc) => product.knows(rpc),
    faults,
    observations,
    clock,
    next: product.handler,
  });
  const lsp = await listenForLsp();
  let listeners: Listener[];
  let ports: ServerPorts;
  if (product.tls) {
    const certificate = selfSigned(clock.now());
    await writeCertificate(order.extension, certificate.cert);
    const { tls, plain } = await listenForTlsAndPlain(handler, certificate);
    listeners = [tls, plain, lsp];
    ports = { rpcPort: plain.port, tlsPort: tls.port, lspPort: lsp.port, chatClientPort: undefined };
  } else {
    const chatClient = await listenForLsp();
    const rpc = await listenForRpc(handler, 0, config.http2);
    listeners = [rpc, lsp, chatClient];
    ports = { rpcPort: rpc.port, tlsPort: undefined, lspPort: lsp.port, chatClientPort: chatClient.port };
  }

  for (const kind of config.decoys) {
    listeners.push(await listenAsDecoy(kind, Math.min(ports.rpcPort, ports.tlsPort ?? ports.rpcPort)));
  }

  return {
    ports,
    calls: {
      ...product.calls,
      async report(newerThan) {
        await observations.changedSince(newerThan);
        return observations.report(product.cascades());
      },
      setFaults: (next) => faults.replace(next),
    },
    async close() {
      await Promise.all(listeners.map((listener) => listener.close()));
      await product.close();
    },
  };
}

/** Antigravity ships its server's certificate in the extension. Source: docs/dev/wire/language-server.md, "Ports". */
async function writeCertificate(extension: string, cert: string): Promise<void> {
  const folder = join(extension, "dist", "languageServer");
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, "cert.pem"), cert);
}
