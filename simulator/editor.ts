import { randomBytes, randomUUID } from "node:crypto";
import module from "node:module";
import { dirname } from "node:path";
import { pathToFileURL } from "node:url";
import { orAborted } from "../src/base/async.ts";
import { systemClock } from "../src/base/clock.ts";
import { remove } from "../src/base/node/move-file.ts";
import { Secret } from "../src/base/secret.ts";
import type { Plan, PlanUse } from "./account/plan.ts";
import {
  type OwnTurn,
  type OwnTurnInput,
  ownTurnSchema,
  type PlanInput,
  type PlanOptions,
  planOptionsSchema,
} from "./account/plan-options.ts";
import { type AgentInput, agentOptionsSchema } from "./acp/agent-options.ts";
import { AgentDesk } from "./acp/desk/desk.ts";
import type { AgentPrompt, AgentReport } from "./acp/desk/desk-protocol.ts";
import type { ExtensionServer } from "./extension-server.ts";
import { type RpcFault, rpcFaultSchema } from "./faults/rpc-fault.ts";
import { type TurnPlan, turnPlanSchema } from "./faults/turn-plan.ts";
import type { Layout, Platform } from "./layout.ts";
import type { SimulatorConfig } from "./options.ts";
import { processArguments, processEnvironment } from "./process-arguments.ts";
import type { Profile } from "./profile.ts";
import { Observations, type Report } from "./report.ts";
import { type SimulatedServer, spawnServer } from "./server-process.ts";
import type { Simulator } from "./simulator.ts";

export interface EditorParts {
  readonly config: SimulatorConfig;
  readonly home: string;
  readonly ownHome: boolean;
  readonly profile: Profile;
  readonly ideVersion: string;
  readonly system: Platform;
  readonly layout: Layout;
  readonly extensionServer: ExtensionServer;
}

/** Longer than 300 lines: it is the whole stand-in editor, whose parts start and stop in one order. */
export class Editor implements Simulator {
  readonly #parts: EditorParts;
  readonly apiKey: Secret;
  readonly #installationId = randomUUID();
  readonly #extensionServerToken = randomUUID();
  #server: SimulatedServer | undefined;
  #csrfToken = new Secret("");
  #faults: readonly RpcFault[];
  #turn: TurnPlan;
  #plan: PlanOptions;
  #planUse: PlanUse | undefined;
  #starts = 0;
  readonly #agents: AgentDesk | undefined;
  #stopped = false;
  /** Restarts follow one another. */
  #restarting: Promise<void> = Promise.resolve();

  constructor(parts: EditorParts) {
    this.#parts = parts;
    this.apiKey = new Secret(parts.config.apiKey ?? newApiKey(parts.profile));
    this.#faults = parts.config.faults;
    this.#turn = parts.config.turn;
    this.#plan = parts.config.plan;
    if (parts.profile.devin === undefined) return;
    this.#agents = new AgentDesk({
      ...parts,
      cliOnly: !runsEditor(parts.profile),
      apiKey: this.apiKey,
      compileCache: compileCache(),
      exhausted: async () => {
        const { plan, nowMs } = await this.#livePlan();
        return plan.refusal(nowMs);
      },
      spend: (credits) => this.#spend(ownTurnSchema.parse({ credits })),
    });
  }

  get home() {
    return this.#parts.home;
  }
  get profile() {
    return this.#parts.profile;
  }
  get layout() {
    return this.#parts.layout;
  }
  get ideVersion() {
    return this.#parts.ideVersion;
  }
  get extensionServerPort() {
    return this.#parts.extensionServer.port;
  }
  get csrfToken() {
    return this.#csrfToken;
  }
  get starts() {
    return this.#starts;
  }
  get agentPath() {
    return this.#agents === undefined ? undefined : this.layout.agent;
  }
  get cliPath() {
    return this.#agents?.cliPath;
  }
  get pid() {
    return this.#running.pid;
  }
  get port() {
    return this.#running.ports.rpcPort;
  }
  get tlsPort() {
    return this.#running.ports.tlsPort;
  }
  get otherPorts() {
    const { lspPort, chatClientPort } = this.#running.ports;
    return chatClientPort === undefined ? [lspPort] : [lspPort, chatClientPort];
  }

  get #running(): SimulatedServer {
    if (!runsEditor(this.profile)) throw new Error(`no editor runs in the profile ${this.profile.name}`);
    if (this.#server === undefined) throw new Error("the simulator has been stopped");
    return this.#server;
  }

  /** The `devin` programs, and what Devin Desktop's own starts leave: logs, a saved plan, the folder of its old name. */
  async install(): Promise<void> {
    const { config, layout, profile } = this.#parts;
    await this.#agents?.open();
    if (profile.devin?.editor !== true) return;
    const nowMs = systemClock.now();
    const { writeAppStart } = await import("./account/saved-plan.ts");
    await writeAppStart({
      stateDatabase: layout.stateDatabase,
      logs: layout.logs,
      plan: this.#plan,
      use: this.#planUse,
      signedIn: !config.signedOut,
      nowMs,
    });
    if (!config.upgraded) return;
    const { writeOldDataFolder } = await import("./account/old-data-folder.ts");
    await writeOldDataFolder(layout.oldStateDatabase, this.#installationId, nowMs);
  }

  get #devin(): AgentDesk {
    if (this.#agents === undefined) throw new Error(`no devin program belongs to the profile ${this.profile.name}`);
    return this.#agents;
  }

  prompts(): readonly AgentPrompt[] {
    return this.#devin.report().prompts;
  }

  agentReport(): AgentReport {
    return this.#devin.report();
  }

  async untilAgent(passes: (report: AgentReport) => boolean, signal: AbortSignal): Promise<AgentReport> {
    return await this.#devin.until(passes, signal);
  }

  async setAgent(options: AgentInput): Promise<void> {
    await this.#devin.setOptions(agentOptionsSchema.parse(options));
  }

  /** The plan as it stands, by what turns of the server and of the agents have taken. */
  async #livePlan(): Promise<LivePlan> {
    const { Plan, initialUse } = await import("./account/plan.ts");
    const nowMs = systemClock.now();
    this.#planUse ??= initialUse(this.#plan, nowMs);
    return { plan: new Plan(this.#plan, this.#planUse), nowMs };
  }

  async #spend(turn: OwnTurn): Promise<void> {
    if (this.#server !== undefined) {
      await this.#server.call("spend", turn);
      return;
    }
    const { plan, nowMs } = await this.#livePlan();
    plan.spend(Math.round(turn.credits * 100), nowMs);
    this.#planUse = plan.use(nowMs);
  }

  async start(): Promise<void> {
    const { config, home, layout, profile, system, extensionServer, ideVersion } = this.#parts;
    const csrfToken = randomUUID();
    const facts = {
      profile,
      platform: system,
      layout,
      home,
      workspace: config.workspace,
      ideVersion,
      csrfToken,
      extensionServerPort: extensionServer.port,
      extensionServerToken: this.#extensionServerToken,
      pipeName: randomBytes(8).toString("hex"),
      unmarked: config.unmarked,
    };
    const server = await spawnServer({
      binary: layout.binary,
      arguments: processArguments(facts),
      environment: processEnvironment(facts),
      cwd: home,
      order: {
        ...compileCache(),
        config,
        csrfToken,
        apiKey: this.apiKey.reveal(),
        stateDatabase: layout.stateDatabase,
        extension: layout.extension,
        cascades: layout.cascades,
        workspaceUri: pathToFileURL(config.workspace).href,
        installationId: this.#installationId,
        faults: this.#faults,
        turn: this.#turn,
        plan: this.#plan,
        ...(this.#planUse === undefined ? {} : { planUse: this.#planUse }),
      },
      onRestartWanted: () => void this.restart({ crash: true }),
      onSpent: (use) => {
        this.#planUse = use;
      },
    });
    this.#csrfToken = new Secret(csrfToken);
    this.#server = server;
    this.#starts++;
  }

  async report(): Promise<Report> {
    if (!runsEditor(this.profile)) return new Observations().report([]);
    return await this.#running.call("report", -1);
  }

  async until(passes: (report: Report) => boolean, signal: AbortSignal): Promise<Report> {
    for (let newerThan = -1; ; ) {
      const server = this.#running;
      try {
        const report = await orAborted(server.call("report", newerThan), signal);
        if (passes(report)) return report;
        newerThan = report.version;
      } catch (error) {
        await this.#restarting;
        if (signal.aborted || this.#server === undefined || this.#server === server) throw error;
        newerThan = -1; // the one that was asked has been replaced
      }
    }
  }

  async setFaults(faults: readonly RpcFault[]): Promise<void> {
    this.#faults = rpcFaultSchema.array().parse(faults);
    await this.#running.call("setFaults", this.#faults);
  }

  async setTurn(plan: TurnPlan): Promise<void> {
    this.#turn = turnPlanSchema.parse(plan);
    await this.#agents?.setTurn(this.#turn);
    if (runsEditor(this.profile)) await this.#running.call("setTurn", this.#turn);
  }

  async setPlan(plan: PlanInput): Promise<void> {
    this.#plan = planOptionsSchema.parse({ shape: this.#plan.shape, allows: this.#plan.allows, ...plan });
    this.#planUse = undefined;
    if (runsEditor(this.profile)) await this.#running.call("setPlan", this.#plan);
  }

  async spend(turn: OwnTurnInput): Promise<void> {
    await this.#spend(ownTurnSchema.parse(turn));
  }

  async release(): Promise<void> {
    this.#agents?.release();
    if (runsEditor(this.profile)) await this.#running.call("release");
  }

  restart(options: { readonly crash?: boolean } = {}): Promise<void> {
    const next = this.#replaceServer(this.#restarting, options.crash === true);
    this.#restarting = next.catch(() => {}); // the caller gets the failure; the next restart starts anew
    return next;
  }

  async #replaceServer(earlier: Promise<void>, crash: boolean): Promise<void> {
    await earlier;
    if (this.#stopped || !runsEditor(this.profile)) return;
    if (crash) await this.#running.kill();
    else await this.#running.end();
    await this.start();
  }

  async stop(): Promise<void> {
    if (this.#stopped) return;
    this.#stopped = true;
    await this.#restarting;
    await this.#server?.end();
    this.#server = undefined;
    await this.#agents?.close();
    await this.#parts.extensionServer.close();
    if (this.#parts.ownHome) await remove(this.home, { recursive: true });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }
}

interface LivePlan {
  readonly plan: Plan;
  readonly nowMs: number;
}

/** Whether an editor with its language server runs; with the CLI alone there is none. */
export function runsEditor(profile: Profile): boolean {
  return profile.devin?.editor !== false;
}

/** A key as the product of this era hands it out. */
function newApiKey(profile: Profile): string {
  const random = () => randomBytes(32).toString("base64url");
  if (profile.family === "antigravity") return `ya29.${random()}`; // the access token of a Google account
  if (profile.devin === undefined) return `sk-ws-01-${random()}`;
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  return `devin-session-token$${part({ alg: "HS256", typ: "JWT" })}.${part({ sub: "simulator" })}.${random()}`;
}

/** Where this process keeps compiled code, if it does; Node names the folder of its own version in it. */
function compileCache(): { readonly compileCache?: string } {
  const own: string | undefined = module.getCompileCacheDir?.(); // not every runtime has it
  return own === undefined ? {} : { compileCache: dirname(own) };
}
