import type { ServerCalls } from "./control.ts";
import type { CascadeReport } from "./report.ts";
import type { Handler } from "./wire/listener.ts";

/** The behaviour of one product's language server behind its ports. */
export interface Product {
  /** Whether it has an RPC of this name. */
  knows(rpc: string): boolean;
  readonly handler: Handler;
  /** It also answers over TLS, on the port before. */
  readonly tls: boolean;
  cascades(): readonly CascadeReport[];
  readonly calls: Omit<ServerCalls, "start" | "report" | "setFaults">;
  close(): Promise<void>;
}
