import { createHash } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { writeJson } from "../../../base/json.ts";
import type { Prompt, PromptForm } from "../../backend.ts";
import { type AcpAgentSpec, type AcpStyle, workingFolder } from "../known/agent-spec.ts";
import { type OwnSettings, ownSettings } from "../known/own-settings.ts";

/** What every process of an agent is started with now. */
interface Preparation {
  readonly cwd: string;
  readonly own: OwnSettings;
  readonly environment: Readonly<Record<string, string>>;
  readonly secrets: readonly string[];
  /** Equal while settings and account stay the same. */
  readonly settings: string;
}

/** Everything that is kept of this agent is below it. */
export function agentFolder({ folder, name }: AcpAgentSpec): string {
  return join(folder, encodeURIComponent(name));
}

/** The empty folder in which it runs. */
export function agentCwd(spec: AcpAgentSpec): string {
  return join(agentFolder(spec), workingFolder);
}

/** Makes the folder that the agent runs in, and reads its settings and secrets. Throws as these do. */
export async function prepareLaunch(spec: AcpAgentSpec, signal: AbortSignal): Promise<Preparation> {
  const cwd = agentCwd(spec);
  await mkdir(cwd, { recursive: true, mode: 0o700 });
  const secrets = Object.entries((await spec.secrets?.(signal)) ?? {}).map(
    ([name, secret]) => [name, secret.reveal()] as const, // for the process's environment, and to take it out of texts
  );
  const own = await ownSettings(spec, agentFolder(spec));
  const environment = { ...spec.environment, ...own.environment, ...Object.fromEntries(secrets) };
  const { command, args, clientName, allowsActions } = spec;
  const settings = createHash("sha256")
    .update(writeJson([command, args, clientName, allowsActions, own, environment]))
    .digest("hex");
  return { cwd, own, environment, secrets: secrets.map(([, value]) => value), settings };
}

/**
 * The style for Devin if the configuration names none. Plain questions go to its default agent in `ask` mode, as the vendor
 * intends. A request with client tools goes to the agent type that has no tools: the default agent would use its own tools
 * instead of the client's. Source: docs/wire/acp.md, "Permissions".
 */
const devinStyles: Readonly<Record<PromptForm, AcpStyle>> = { text: "ask", tools: "summarizer", json: "ask" };

/** The style for a request. Agents of other vendors have one type only. */
export function styleFor({ vendor, styles }: AcpAgentSpec, form: PromptForm): AcpStyle {
  return vendor === "devin" ? (styles?.[form] ?? devinStyles[form]) : "ask";
}

/** The launch of a process: the process can serve every session of the same launch. */
export interface AgentLaunch {
  readonly style: AcpStyle;
  /** Equal for launches that one process can serve. */
  readonly key: string;
  readonly args: readonly string[];
}

/** The summarizer's sessions have no model option, so each of its models needs a separate process. */
export function launchFor(spec: AcpAgentSpec, form: PromptForm, model: string | undefined): AgentLaunch {
  const style = styleFor(spec, form);
  if (style === "ask") return { style, key: "ask", args: spec.args };
  const chosen = model === undefined ? [] : ["--model", model];
  return {
    style,
    key: `summarizer ${model ?? ""}`,
    args: [...spec.args, "--agent-type", "summarizer", ...chosen],
  };
}

/** Names the instructions, without the mark of their turn: two turns with the same rules differ in nothing else. */
export function rulesOf({ instructions, mark }: Prompt): string {
  const rules = mark === undefined ? instructions : instructions.replaceAll(`-${mark}`, "");
  return createHash("sha256").update(rules).digest("base64");
}

/**
 * Agents look for commands of theirs where a prompt begins. So a block of ours is the first one of every prompt, and no text of a client
 * ever is. Source: docs/wire/acp-measured.md, "Commands and mentions".
 */
export const opening = "This is a request of a program. It is in the blocks after this one.";

/**
 * The texts of a `session/prompt`, one block each: one of ours that is always the same, the instructions, then the conversation. `told`:
 * this session already has the same instructions, so they are left out.
 */
export function promptBlocks(
  style: AcpStyle,
  { instructions, text, continues }: Prompt,
  told: boolean,
): readonly string[] {
  const rules = told ? "" : instructions.trim();
  const before = style === "ask" ? rules : frame(rules, continues !== undefined);
  return before === "" ? [opening, text] : [opening, before, text];
}

/** The summarizer's role is to read an execution trace and to write about it. Here it writes what comes next in it. */
function frame(rules: string, goesOn: boolean): string {
  const where = goesOn
    ? "The execution trace goes on after your last output; the next block is its new part."
    : "The next block is the execution trace of an assistant, up to the point where the assistant has to speak next.";
  return rules === "" ? `${where} ${task}` : `${where} ${task}\n\nRules of the assistant in this trace:\n\n${rules}`;
}

const task =
  "Your task: write the assistant's next output exactly as the assistant has to give it, whole, from its first character on, " +
  "following its rules to the letter. Do not describe, judge or summarise the trace. Add no heading and no remark of your own.";
