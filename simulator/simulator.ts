import type { Secret } from "../src/base/secret.ts";
import type { OwnTurnInput, PlanInput } from "./account/plan-options.ts";
import type { AgentInput } from "./acp/agent-options.ts";
import type { AgentPrompt, AgentReport } from "./acp/desk/desk-protocol.ts";
import type { RpcFault } from "./faults/rpc-fault.ts";
import type { TurnPlan } from "./faults/turn-plan.ts";
import type { Layout } from "./layout.ts";
import type { Profile } from "./profile.ts";
import type { Report } from "./report.ts";

/** A stand-in IDE that runs: its own home folder, and a language server in a process of its own. */
export interface Simulator extends AsyncDisposable {
  readonly home: string;
  readonly profile: Profile;
  readonly layout: Layout;
  readonly ideVersion: string;
  readonly apiKey: Secret;
  /** Of the process that runs now; these change with every restart. */
  readonly pid: number;
  /** The RPC port, plain HTTP. */
  readonly port: number;
  /** The RPC port with TLS; Antigravity only. */
  readonly tlsPort: number | undefined;
  readonly csrfToken: Secret;
  /** The ports of the process that speak something else. */
  readonly otherPorts: readonly number[];
  /** The editor's own server, in this process. */
  readonly extensionServerPort: number;
  /** How often the server process has been started, the first time included. */
  readonly starts: number;
  /** The `devin` program inside the app; undefined where the product has none. */
  readonly agentPath: string | undefined;
  /** The `devin` program of the CLI; undefined where it is not installed. */
  readonly cliPath: string | undefined;
  /** Prompts that `devin` processes accepted since the simulator's start, in order. */
  prompts(): readonly AgentPrompt[];
  /** The history of all `devin` processes since the simulator's start. */
  agentReport(): AgentReport;
  /** The first report of the agents that passes; waits for changes, not for time. Throws the signal's reason. */
  untilAgent(passes: (report: AgentReport) => boolean, signal: AbortSignal): Promise<AgentReport>;
  /** Replaces how `devin` behaves, but for how it is installed. Running processes follow from their next call on. */
  setAgent(options: AgentInput): Promise<void>;
  /** The server process's activity since its start. */
  report(): Promise<Report>;
  /** The first report that passes; waits for changes, not for time, and across restarts. Throws the signal's reason. */
  until(passes: (report: Report) => boolean, signal: AbortSignal): Promise<Report>;
  /** Replaces the faults of RPCs; they survive a restart. */
  setFaults(faults: readonly RpcFault[]): Promise<void>;
  /** Replaces how turns go by default; survives a restart. */
  setTurn(plan: TurnPlan): Promise<void>;
  /** Replaces the account's plan, keeping its shape unless another is given; the use by earlier turns is forgotten. Survives a restart. */
  setPlan(plan: PlanInput): Promise<void>;
  /** A turn that the user ran in the IDE itself: it takes its cost from the plan, and no request of yours explains it. */
  spend(turn: OwnTurnInput): Promise<void>;
  /** Releases every answer that holds (`holdAfter`), and every one that began before this and would hold later. */
  release(): Promise<void>;
  /** A new process with a new port and token; panel state gone, conversations on disk kept. `crash`: no good order. */
  restart(options?: { readonly crash?: boolean }): Promise<void>;
  /** Ends the server and leaves the home folder, as closing the editor does. */
  stop(): Promise<void>;
}
