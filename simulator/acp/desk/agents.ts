import type { Secret } from "../../../src/base/secret.ts";
import type { QuotaError } from "../../account/plan.ts";
import type { TurnPlan } from "../../faults/turn-plan.ts";
import type { Layout } from "../../layout.ts";
import type { SimulatorConfig } from "../../options.ts";
import type { AgentOptions } from "../agent-options.ts";
import { AppAgents } from "./app-agents.ts";
import { AgentDesk } from "./desk.ts";
import type { AgentReport } from "./desk-protocol.ts";
import { type InstalledAgents, installAgents } from "./install-agent.ts";

const startLimitMs = 30_000;

interface AgentsParts {
  readonly config: SimulatorConfig;
  readonly home: string;
  readonly layout: Layout;
  readonly apiKey: Secret;
  /** No app is installed, so that the CLI is, unless the options say otherwise. */
  readonly cliOnly: boolean;
  readonly compileCache: { readonly compileCache?: string };
  readonly exhausted: () => Promise<QuotaError | undefined>;
  readonly spend: (credits: number) => Promise<void>;
}

/** The `devin` programs of one home: their files, and the desk that steers and counts their processes. */
export class Agents {
  readonly desk: AgentDesk;
  readonly #parts: AgentsParts;
  #port = 0;
  #paths: InstalledAgents = { command: [], agentPath: undefined, cliPath: undefined };
  #ofApp: AppAgents | undefined;

  constructor(parts: AgentsParts) {
    this.#parts = parts;
    const { config, apiKey, exhausted, spend } = parts;
    this.desk = new AgentDesk({ apiKey, options: config.agent, turn: config.turn, exhausted, spend });
  }

  get paths(): InstalledAgents {
    return this.#paths;
  }

  /** Opens the desk and writes the programs. */
  async install(): Promise<void> {
    this.#port = await this.desk.listen();
    await this.#write();
  }

  /** Starts the processes that the running app keeps for itself; resolves once they are up. */
  async startOfApp(): Promise<void> {
    const { command, agentPath } = this.#paths;
    if (agentPath === undefined) return;
    const ofApp = new AppAgents({ command, agentPath, home: this.#parts.home });
    this.#ofApp = ofApp;
    const isUp = (pid: number, { processes }: AgentReport) => processes.some((one) => one.pid === pid);
    await this.desk.until((report) => ofApp.pids.every((pid) => isUp(pid, report)), AbortSignal.timeout(startLimitMs));
  }

  async close(): Promise<void> {
    await this.#ofApp?.stop();
    await this.desk.close();
  }

  /** Holds for running processes too, from their next call on. How the programs are installed does not change. */
  async setOptions(options: AgentOptions): Promise<void> {
    this.desk.setOptions(options);
    await this.#write();
  }

  async setTurn(turn: TurnPlan): Promise<void> {
    this.desk.turn = turn;
    await this.#write();
  }

  async #write(): Promise<void> {
    const { config, home, layout, apiKey, cliOnly, compileCache } = this.#parts;
    const { modelUrl, modelName, modelKey } = config;
    const cli = config.agent.cli ?? cliOnly;
    this.#paths = await installAgents({
      home,
      layout,
      node: process.execPath,
      cli,
      marked: !config.unmarked,
      credentials: config.agent.credentials ?? (cli && !config.signedOut),
      settings: {
        port: this.#port,
        token: this.desk.token,
        home,
        cliData: layout.cliData,
        apiKey: apiKey.reveal(),
        options: this.desk.options,
        turn: this.desk.turn,
        ...compileCache,
        ...(modelUrl === undefined ? {} : { modelUrl }),
        ...(modelName === undefined ? {} : { modelName }),
        ...(modelKey === undefined ? {} : { modelKey }),
      },
    });
  }
}
