import type { Prompt, RunOptions } from "../backend.ts";
import type { HeldSession } from "./session/held-session.ts";
import type { AgentParts } from "./turn-parts.ts";

export interface AcpTurn {
  readonly parts: AgentParts;
  readonly prompt: Prompt;
  readonly options: RunOptions;
  readonly signal: AbortSignal;
  readonly held: HeldSession;
}
