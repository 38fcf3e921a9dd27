import type { PromptForm } from "../../backend.ts";
import type { AcpAgentSpec, AcpStyle } from "./agent-spec.ts";

/**
 * The names by which Millrace introduces itself to Devin, in the order in which they are tried: some builds serve its vendor's own editor
 * alone. Other agents hear the first.
 */
export const clientNames = ["millrace", "windsurf"] as const;

/** The launch of a process: the process can serve every session of the same launch. */
export interface AgentLaunch {
  /** Equal for launches that one process can serve. */
  readonly key: string;
  readonly args: readonly string[];
}

/**
 * Plain questions go to Devin's default agent in `ask` mode, as the vendor intends. A request with client tools goes to the agent type
 * that has no tools: the default agent would use its own tools instead of the client's. Agents of other vendors have one type only.
 * Source: docs/dev/wire/acp.md, "Permissions".
 */
export function launchFor(spec: AcpAgentSpec, form: PromptForm, model: string | undefined): AgentLaunch {
  return spec.vendor === "devin" && form === "tools" ? summarizerLaunch(spec, model) : plainLaunch(spec);
}

/** The summarizer's sessions have no model option, so each of its models needs a separate process. */
export function summarizerLaunch({ args }: AcpAgentSpec, model?: string): AgentLaunch {
  const chosen = model === undefined ? [] : ["--model", model];
  return {
    key: `summarizer ${model ?? ""}`,
    args: [...args, "--agent-type", "summarizer", ...chosen],
  };
}

/** The launch of the program as it is: also for what asks no model, such as the list of models. */
export function plainLaunch({ args }: AcpAgentSpec): AgentLaunch {
  return { key: "ask", args };
}

/** The style of a launch with this key. */
export function styleOf(key: string): AcpStyle {
  return key === "ask" ? "ask" : "summarizer";
}

/** The summarizer's role is to read an execution trace and to write about it. Here it writes what comes next in it. */
export function framed(rules: string, goesOn: boolean): string {
  const where = goesOn
    ? "The execution trace goes on after your last output; the next block is its new part."
    : "The next block is the execution trace of an assistant, up to the point where the assistant has to speak next.";
  return rules === "" ? `${where} ${task}` : `${where} ${task}\n\nRules of the assistant in this trace:\n\n${rules}`;
}

const task =
  "Your task: write the assistant's next output exactly as the assistant has to give it, whole, from its first character on, " +
  "following its rules to the letter. Do not describe, judge or summarise the trace. Add no heading and no remark of your own.";
