import type { Prompt, PromptForm } from "../backend.ts";
import type { AcpAgentSpec, AcpStyle } from "./agent-spec.ts";

/**
 * In which style Devin is asked when the configuration does not say. Its default agent in `ask` mode answers plain questions
 * as the vendor means it to. A request with client tools goes to the agent type without tools of its own: the default agent
 * would use its own instead of the client's. Source: docs/wire/acp.md, "Answers without tools".
 */
const devinStyles: Readonly<Record<PromptForm, AcpStyle>> = { text: "ask", tools: "summarizer", json: "ask" };

/** The style for a request. Agents of other vendors have one type only. */
export function styleFor({ vendor, styles }: AcpAgentSpec, form: PromptForm): AcpStyle {
  return vendor === "devin" ? (styles?.[form] ?? devinStyles[form]) : "ask";
}

/** What a process is started with: it can serve every session of the same launch. */
export interface Launch {
  readonly style: AcpStyle;
  /** Equal for launches that one process can serve. */
  readonly key: string;
  readonly args: readonly string[];
}

/** The summarizer has no model option in its sessions, so that each of its models needs a process of its own. */
export function launchFor(spec: AcpAgentSpec, form: PromptForm, model: string | undefined): Launch {
  const style = styleFor(spec, form);
  if (style === "ask") return { style, key: "ask", args: spec.args };
  const chosen = model === undefined ? [] : ["--model", model];
  return {
    style,
    key: `summarizer ${model ?? ""}`,
    args: [...spec.args, "--agent-type", "summarizer", ...chosen],
  };
}

/**
 * The text of a `session/prompt`. `told` says that this session already holds the same instructions.
 */
export function promptText(style: AcpStyle, { instructions, text, continues }: Prompt, told: boolean): string {
  const rules = told ? "" : instructions.trim();
  if (style === "ask") return rules === "" ? text : `${rules}\n\n${text}`;
  return continues === undefined ? trace(rules, text) : traceGoesOn(rules, text);
}

/** The summarizer's role is to read an execution trace and to write about it. Here it writes what comes next in it. */
function trace(rules: string, text: string): string {
  return [
    "Below is the execution trace of an assistant, up to the point where the assistant has to speak next.",
    writeNext,
    ...(rules === "" ? [] : ["## Rules of the assistant in this trace", rules]),
    "## Execution trace",
    text,
    lastWord,
  ].join("\n\n");
}

function traceGoesOn(rules: string, text: string): string {
  return [
    "The execution trace goes on after your last output.",
    ...(rules === "" ? [] : ["## Rules of the assistant from here on", rules]),
    "## Execution trace, continued",
    text,
    lastWord,
  ].join("\n\n");
}

const writeNext =
  "Your task: write the assistant's next output exactly as the assistant has to give it, following its rules to the letter. " +
  "Do not describe, judge or summarise the trace.";

const lastWord =
  "## Next output of the assistant\n\n" +
  "Write it now, whole, from its first character on. Add no heading and no remark of your own.";
