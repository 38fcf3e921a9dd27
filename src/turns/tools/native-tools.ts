import { createHash } from "node:crypto";
import type { NativePrompt, ToolResult, ToolSpec } from "../../backends/backend.ts";
import { parseJson } from "../../base/json.ts";
import type { TurnEventBody } from "../../log/event.ts";
import type { Message, TurnRequest } from "../../log/request.ts";
import { checkArguments } from "./arguments/check-arguments.ts";
import type { ShownTool, ToolNames } from "./names.ts";

type Call = TurnEventBody & { readonly type: "tool_call" };

/** Agents put a prefix of up to 16 characters before a name, and the APIs of their models take 64. */
const longest = 48;
/** A freeform tool takes its text under this name: an agent's tools have JSON arguments only. */
const textArgument = "input";

/** Maps the tools that may be called now: all of them, or the one that the client names. Pure and deterministic. */
export function nativeTools(
  { tools }: ToolNames,
  { toolChoice }: Pick<TurnRequest, "toolChoice">,
): {
  readonly specs: readonly ToolSpec[];
  /** A call of the agent as the client knows the tool; undefined for a tool that is not offered. */
  clientCall(call: Call): Call | undefined;
} {
  const byName = new Map<string, ShownTool>();
  for (const tool of tools) byName.set(agentName(tool.shownName, byName), tool);
  const isOffered = ({ tool }: ShownTool) => toolChoice.type !== "named" || tool.name === toolChoice.name;
  const offered = [...byName].filter(([, tool]) => isOffered(tool));
  return {
    specs: offered.map(([name, tool]) => specOf(name, tool)),
    clientCall(call) {
      const tool = byName.get(call.name);
      return tool === undefined
        ? undefined
        : { ...call, name: tool.tool.name, argumentsDelta: clientArguments(tool, call) };
    },
  };
}

/** Short, of the characters that every model's API takes, and no other tool's; a longer name ends in a digest of the whole. */
function agentName(shownName: string, taken: ReadonlyMap<string, unknown>): string {
  const plain = shownName.replaceAll(/[^A-Za-z0-9_-]/g, "_");
  if (plain === shownName && plain.length <= longest && !taken.has(plain)) return plain;
  const digest = createHash("sha256").update(shownName).digest("hex").slice(0, 6);
  return `${plain.slice(0, longest - 7)}_${digest}`;
}

function specOf(name: string, tool: ShownTool): ToolSpec {
  const { description, kind } = tool.tool;
  const text = { type: "object", properties: { [textArgument]: { type: "string" } }, required: [textArgument] };
  return {
    name,
    description,
    inputSchema: kind === "freeform" ? text : { ...tool.shownParameters, type: "object" },
    check(value) {
      const checked = checkArguments(tool, value);
      return checked.ok ? undefined : `The arguments do not fit the tool's schema: ${checked.message}`;
    },
  };
}

function clientArguments(tool: ShownTool, { argumentsDelta }: Call): string {
  const value: unknown = parseJson(argumentsDelta); // the backend made it of an object
  const checked = checkArguments(tool, value, argumentsDelta);
  return checked.ok ? checked.text : argumentsDelta;
}

/** What an agent is told of calls: it knows its tools and how to call them. */
export function nativeRules({ toolChoice, parallelToolCalls, messages }: TurnRequest): string {
  const rules = [
    `Use the tools of the server "millrace" alone: they work for the user. Your other tools reach nothing of the user's.`,
    ...(toolChoice.type === "required" ? ["This answer must call at least one of your tools."] : []),
    ...(toolChoice.type === "named" ? ["This answer must call the one tool that you have."] : []),
    ...(parallelToolCalls ? [] : ["Call one tool at a time."]),
    ...(messages.some((message) => message.role === "assistant" && message.toolCalls.length > 0)
      ? ["Earlier calls stand in the conversation as text. Make yours with your tools, never as text."]
      : []),
  ];
  return rules.join("\n");
}

/** The results after the last answer, where nothing else follows it. */
export function nativeResults(messages: readonly Message[]): NativePrompt["results"] {
  const after = messages.slice(messages.findLastIndex(({ role }) => role === "assistant") + 1);
  const results = after.flatMap((message) => (message.role === "tool" ? [resultOf(message)] : []));
  return results.length === 0 || results.length < after.length ? undefined : results;
}

function resultOf({ callId, parts, isError }: Message & { readonly role: "tool" }): ToolResult {
  const content = parts.map((part) =>
    part.type === "text"
      ? { type: "text" as const, text: part.text }
      : { type: "image" as const, data: part.base64, mimeType: part.mimeType },
  );
  return { callId, content, isError };
}
