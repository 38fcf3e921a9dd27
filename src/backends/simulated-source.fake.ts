import type { Simulator } from "../../simulator/index.ts";
import { systemClock } from "../base/clock.ts";
import type { LanguageServer } from "../language-server/language-server.ts";
import { createWireIds } from "../language-server/metadata.ts";
import { openLanguageServer } from "../language-server/open-language-server.ts";
import type { ServerSource } from "./current-server.ts";

/** Finds the simulator's server without a discovery: one client per port it ever had, the newest one when asked. */
export class SimulatedSource implements ServerSource {
  readonly #simulator: Simulator;
  readonly #clients = new Map<number, LanguageServer>();
  readonly #ids = createWireIds(systemClock);

  constructor(simulator: Simulator) {
    this.#simulator = simulator;
  }

  find(): Promise<LanguageServer> {
    const { port, csrfToken, apiKey, ideVersion } = this.#simulator;
    const known = this.#clients.get(port);
    if (known !== undefined) return Promise.resolve(known);
    const server = openLanguageServer(
      { variant: "windsurf", host: "127.0.0.1", port, tls: false, protocol: "grpc", csrfToken },
      { variant: "windsurf", ideVersion, extensionVersion: "", extensionPath: "", apiKey },
      { clock: systemClock, ids: this.#ids },
    );
    this.#clients.set(port, server);
    return Promise.resolve(server);
  }

  forget(): void {}

  close(): void {
    for (const client of this.#clients.values()) client.close();
  }
}
