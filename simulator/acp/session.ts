import { randomInt } from "node:crypto";
import type { McpClient } from "./mcp-client.ts";
import type { agentModels } from "./models.ts";

/** Of Devin's agent: `accept-edits` is where a session starts. Source: docs/dev/wire/acp.md, "Sessions". */
const modes = [
  ["accept-edits", "Accept edits"],
  ["smart", "Smart"],
  ["ask", "Ask"],
  ["plan", "Plan"],
  ["bypass", "Bypass permissions"],
] as const;

const efforts = [
  ["low", "Low"],
  ["medium", "Medium"],
  ["high", "High"],
] as const;

/** One conversation that this process has open. */
export interface Session {
  readonly sessionId: string;
  readonly cwd: string;
  model: string;
  mode: string;
  effort: string;
  /** Aborts the running turn. */
  running: AbortController | undefined;
  /** A cancel came, and the next prompt is to be cancelled with it. */
  cancelNext: boolean;
  /** The MCP servers that its client named. */
  mcp: readonly McpClient[];
}

export function isMode(value: unknown): value is string {
  return modes.some(([id]) => id === value);
}

/** A session's modes for the replies to `session/new` and `session/load`. */
export function modesOf(session: Session) {
  return { currentModeId: session.mode, availableModes: modes.map(([id, name]) => ({ id, name })) };
}

/** The options of a session. An agent type without a model option leaves that one out. */
export function configOptionsOf(
  session: Session,
  models: ReturnType<typeof agentModels>,
  { hasModel, hasEfforts }: { readonly hasModel: boolean; readonly hasEfforts: boolean },
) {
  const mode = {
    id: "mode",
    name: "Mode",
    category: "mode",
    type: "select",
    currentValue: session.mode,
    options: modes.map(([value, name]) => ({ value, name })),
  };
  if (!hasModel) return [mode];
  const model = {
    id: "model",
    name: "Model",
    category: "model",
    type: "select",
    currentValue: session.model,
    options: models.map(({ id, name, family }) => ({ value: id, name, description: family })),
  };
  if (!hasEfforts) return [mode, model];
  const effort = {
    id: "reasoning",
    name: "Reasoning effort",
    category: "thought_level",
    type: "select",
    currentValue: session.effort,
    options: efforts.map(([value, name]) => ({ value, name })),
  };
  return [mode, model, effort];
}

export function isEffort(value: unknown): value is string {
  return efforts.some(([id]) => id === value);
}

/** Two words and a hyphen, as the real program names its sessions. Some 10^12 of them. */
export function newSessionId(): string {
  const syllable = () => `${pick("bcdfghjklmnprstvwyz")}${pick("aeiou")}`;
  const word = () => syllable() + syllable() + syllable();
  return `${word()}-${word()}`;
}

function pick(letters: string): string {
  return letters[randomInt(letters.length)] ?? "";
}
