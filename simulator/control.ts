import type { PlanUse } from "./account/plan.ts";
import type { OwnTurn, PlanOptions } from "./account/plan-options.ts";
import type { RpcFault } from "./faults/rpc-fault.ts";
import type { TurnPlan } from "./faults/turn-plan.ts";
import type { SimulatorConfig } from "./options.ts";
import type { Report } from "./report.ts";

/** The start order for the server process, over the channel to its editor. */
export interface StartOrder {
  readonly kind: "start";
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

/** What the editor asks of its running server. Arguments and answers cross the channel as JSON. */
export interface ServerCalls {
  /** The activity so far, once it is newer than a version; at once for -1. */
  report(newerThan: number): Promise<Report>;
  setFaults(faults: readonly RpcFault[]): void;
  setTurn(plan: TurnPlan): void;
  setPlan(plan: PlanOptions): void;
  /** Continues every answer that holds. */
  release(): void;
  spend(turn: OwnTurn): void;
}

/** From the editor's side to the server process. */
export type Order =
  | StartOrder
  | {
      readonly kind: "call";
      readonly id: number;
      readonly name: keyof ServerCalls;
      readonly arguments: readonly unknown[];
    };

/** From the server process to the editor's side. */
export type Notice =
  | { readonly kind: "ready"; readonly ports: ServerPorts }
  | { readonly kind: "answer"; readonly id: number; readonly answer: unknown }
  | { readonly kind: "failed"; readonly id: number; readonly message: string }
  | { readonly kind: "restart" }
  | { readonly kind: "spent"; readonly use: PlanUse };
