import type { ModelUid } from "../../base/ids.ts";
import type { Message, Tool, TurnRequest } from "../../log/request.ts";
import type { LayoutModel } from "./layout.ts";

/** A request of one user text, for tests; any field can be given. */
export function fakeRequest(fields: Partial<TurnRequest> = {}): TurnRequest {
  return {
    model: "test-model",
    messages: [user("Hello")],
    tools: [],
    toolChoice: { type: "auto" },
    parallelToolCalls: true,
    responseFormat: { type: "text" },
    stop: [],
    ...fields,
  };
}

export const fakeModel: LayoutModel = { uid: "test-model" as ModelUid, number: undefined, contextTokens: 128_000 };

export function system(text: string): Message {
  return { role: "system", parts: [{ type: "text", text }] };
}

export function user(text: string): Message {
  return { role: "user", parts: [{ type: "text", text }] };
}

export function assistant(
  text: string,
  calls: readonly { id: string; name: string; arguments: unknown }[] = [],
): Message {
  return {
    role: "assistant",
    parts: text === "" ? [] : [{ type: "text", text }],
    toolCalls: calls.map((call) => ({
      callId: call.id,
      name: call.name,
      arguments: typeof call.arguments === "string" ? call.arguments : JSON.stringify(call.arguments),
      kind: typeof call.arguments === "string" ? "freeform" : "function",
    })),
  };
}

export function toolResult(callId: string, text: string, isError = false): Message {
  return { role: "tool", callId, parts: [{ type: "text", text }], isError };
}

export const bash: Tool = {
  name: "bash",
  description: "Runs a shell command.",
  kind: "function",
  parameters: {
    type: "object",
    properties: {
      command: { type: "string", description: "The command line." },
      timeoutMs: { type: "integer", description: "How long it may take." },
    },
    required: ["command"],
    additionalProperties: false,
  },
};

export const readFile: Tool = {
  name: "read_file",
  description: "Reads a file.",
  kind: "function",
  parameters: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
};

export const applyPatch: Tool = {
  name: "apply_patch",
  description: "Applies a patch.",
  kind: "freeform",
  parameters: {},
};
