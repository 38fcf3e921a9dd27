import type { IdeVariant } from "../language-server/transport/endpoint.ts";
import type { AcpAgent } from "./acp/process/agent.ts";

/** The product that prompts go to, and whose plan they use. */
export interface PromptedIde {
  readonly variant: IdeVariant;
  readonly product: string;
  /** A stand-in of `millrace simulate`: it spends no plan. */
  readonly standIn?: true;
}

/** The vendor's agent, and its name for people. */
export interface VendorAgent {
  readonly agent: AcpAgent;
  /** "Devin Desktop 3.10 (formerly Windsurf)", "Devin CLI". */
  readonly product: string;
  /** The program that discovery found; undefined if the user named the program. */
  readonly program?: PromptedIde;
}

/** The agent programs that prompts can go to. Asking for one starts no process. */
export interface Agents {
  /** The vendor's agent. Throws `ide_not_running` where none is installed, `not_signed_in` where no account is signed in. */
  vendor(signal: AbortSignal): Promise<VendorAgent>;
  /** The agent of that name that the user configured; undefined where there is none. */
  configured(name: string): AcpAgent | undefined;
  /** The agent of that name whose conversation was begun before. Throws as `vendor` does, and `invalid_request` for a name that is gone. */
  named(name: string, signal: AbortSignal): Promise<AcpAgent>;
}
