import type { PlanUse } from "./account/plan.ts";
import type { OwnTurn, PlanOptions } from "./account/plan-options.ts";
import type { RpcFault } from "./faults/rpc-fault.ts";
import type { TurnPlan } from "./faults/turn-plan.ts";
import type { SimulatorConfig } from "./options.ts";
import type { Report } from "./report.ts";

/** The start order for the server process, over the channel to its editor. */
export interface StartOrder {
  /** Where the editor keeps compiled code (`NODE_COMPILE_CACHE`), for the server to keep its own there too. */
  readonly compileCache?: string;
  readonly config: SimulatorConfig;
  readonly csrfToken: string;
  readonly apiKey: string;
  readonly stateDatabase: string;
  readonly extension: string;
  readonly cascades: string;
  readonly workspaceUri: string;
  readonly installationId: string;
  /** Faults and turn defaults that were set while an earlier process ran. */
  readonly faults: readonly RpcFault[];
  readonly turn: TurnPlan;
  readonly plan: PlanOptions;
  /** The use of the plan that an earlier process left. */
  readonly planUse?: PlanUse;
}

/** The ports of a server. Each is of 127.0.0.1. */
export interface ServerPorts {
  /** Plain HTTP. */
  readonly rpcPort: number;
  /** The same over TLS, one below; Windsurf has none. */
  readonly tlsPort: number | undefined;
  readonly lspPort: number;
  /** Antigravity has none. */
  readonly chatClientPort: number | undefined;
}

/** What the editor asks of its running server: JSON-RPC over their channel. The server tells `restart` and `spent`. */
export interface ServerCalls {
  /** The first call. */
  start(order: StartOrder): Promise<ServerPorts>;
  /** The activity so far, once it is newer than a version; at once for -1. */
  report(newerThan: number): Promise<Report>;
  setFaults(faults: readonly RpcFault[]): void;
  setTurn(plan: TurnPlan): void;
  setPlan(plan: PlanOptions): void;
  /** Continues every answer that holds. */
  release(): void;
  spend(turn: OwnTurn): void;
}
