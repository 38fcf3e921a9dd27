import { randomInt } from "node:crypto";
import type { AgentOptions } from "./agent-options.ts";
import type { McpClient } from "./mcp-client.ts";
import { agentModels } from "./models.ts";

/** Of Devin's agent: `accept-edits` is where a session starts. Source: docs/dev/wire/acp.md, "Sessions". */
const modes = {
  "accept-edits": "Accept edits",
  smart: "Smart",
  ask: "Ask",
  plan: "Plan",
  bypass: "Bypass permissions",
};
const efforts = { low: "Low", medium: "Medium", high: "High" };

/** One conversation that this process has open. */
export interface Session {
  readonly sessionId: string;
  readonly cwd: string;
  model: string;
  mode: string;
  effort: string;
  /** Aborts the running turn. */
  running: AbortController | undefined;
  /** The MCP servers that its client named. */
  mcp: readonly McpClient[];
}

/** A new session, with the model that the process was started with where the account has it. */
export function newSession(sessionId: string, cwd: string, models: readonly string[], wanted = ""): Session {
  const model = models.includes(wanted) ? wanted : (models[0] ?? "");
  const start = { mode: "accept-edits", effort: "medium", running: undefined, mcp: [] };
  return { sessionId, cwd, model, ...start };
}

/** Sets an option of a session. False: there is no such option, or it has no such value. `mode` is also set by a call of its own. */
export function setOption(session: Session, options: readonly SessionOption[], id: unknown, value: unknown): boolean {
  const option = options.find((one) => one.id === id);
  if (option === undefined || !option.options.some((choice) => choice.value === value)) return false;
  const field = option.id === "reasoning" ? "effort" : option.id;
  session[field] = String(value);
  return true;
}

type SessionOption = ReturnType<typeof optionsOf>[number];

/** The options of a session. Only the agent type with a model option has more than the mode. */
export function optionsOf(session: Session, { free, efforts: hasEfforts }: AgentOptions, hasModel: boolean) {
  const named = (names: Readonly<Record<string, string>>) =>
    Object.entries(names).map(([value, name]) => ({ value, name }));
  const models = agentModels(free).map(({ id, name, family }) => ({ value: id, name, description: family }));
  const option = <Id extends "mode" | "model" | "reasoning">(
    id: Id,
    name: string,
    [category, currentValue]: readonly [string, string],
    options: readonly { readonly value: string; readonly name: string }[],
  ) => ({ id, name, category, type: "select", currentValue, options });
  return [
    option("mode", "Mode", ["mode", session.mode], named(modes)),
    ...(hasModel ? [option("model", "Model", ["model", session.model], models)] : []),
    ...(hasModel && hasEfforts
      ? [option("reasoning", "Reasoning effort", ["thought_level", session.effort], named(efforts))]
      : []),
  ];
}

/** A session's modes for the replies to `session/new` and `session/load`. */
export function modesOf(session: Session) {
  const availableModes = Object.entries(modes).map(([id, name]) => ({ id, name }));
  return { currentModeId: session.mode, availableModes };
}

/** Two words and a hyphen, as the real program names its sessions. Some 10^12 of them. */
export function newSessionId(): string {
  const pick = (letters: string) => letters[randomInt(letters.length)] ?? "";
  const syllable = () => `${pick("bcdfghjklmnprstvwyz")}${pick("aeiou")}`;
  const word = () => syllable() + syllable() + syllable();
  return `${word()}-${word()}`;
}
