import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type GatewayProcess, millrace } from "../support/gateway-process.ts";
import type { LoopTool } from "../support/tool-loop.ts";

/** Where a text goes in. */
export interface Target {
  readonly gateway: GatewayProcess;
  readonly home: string;
  /** As a client names it. */
  readonly model: string;
}

/** A way in which a text comes into a prompt. */
export interface Way {
  readonly name: string;
  /** How many requests of the model it costs. */
  readonly requests: number;
  /** Where the text arrives: as a text of the user's last message, anywhere in the request, or not word for word. */
  readonly arrives: "user" | "anywhere" | "changed";
  /** Whether the model is offered `clientTool`. */
  readonly hasTool: boolean;
  /** Sends the text; answers with what the model said. Throws where the gateway refused or failed. */
  readonly send: (target: Target, text: string) => Promise<string>;
}

export const clientTool: LoopTool = {
  name: "step",
  parameters: { type: "object", properties: { at: { type: "string" } }, required: ["at"] },
};

interface ChatAnswer {
  readonly choices: readonly {
    readonly message: { readonly content: string | null; readonly tool_calls?: readonly { id: string }[] };
  }[];
}
const hello = [
  { role: "user", content: "Hello." },
  { role: "assistant", content: "Hello." },
];
const functionTool = { type: "function", function: clientTool };
const callStep = 'Please use the tool step with {"at":"#"} 1 times, then count to 3.';
const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";

/** A whole answer. Throws what the gateway refused with. */
export async function post<T>({ gateway, model }: Target, path: string, body: object): Promise<T> {
  const response = await fetch(`${gateway.url}${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${gateway.key}`, "content-type": "application/json" },
    body: JSON.stringify({ model, stream: false, ...body }),
    signal: AbortSignal.timeout(100_000),
  });
  const answer: unknown = await response.json();
  if (!response.ok) throw new Error(`${response.status}: ${JSON.stringify(answer)}`);
  return answer as T; // the gateway's
}

const chat = async (target: Target, messages: readonly object[], more: object = {}) => {
  const { choices } = await post<ChatAnswer>(target, "/v1/chat/completions", { messages, ...more });
  return choices[0]?.message ?? { content: "" };
};
const says = async (target: Target, messages: readonly object[], more: object = {}) =>
  (await chat(target, messages, more)).content ?? "";
const user = (content: unknown) => ({ role: "user", content });
const textPart = (text: string) => ({ type: "text", text });

async function messages(target: Target, content: unknown, more: object = {}): Promise<string> {
  const body = { max_tokens: 1000, messages: [user(content)], ...more };
  const answer = await post<{ content: readonly { text?: string }[] }>(target, "/v1/messages", body);
  return answer.content.map(({ text = "" }) => text).join("");
}

async function responses(target: Target, input: unknown): Promise<string> {
  const answer = await post<{ output: readonly { content?: readonly { text: string }[] }[] }>(target, "/v1/responses", {
    input,
  });
  return answer.output
    .flatMap(({ content }) => content ?? [])
    .map(({ text }) => text)
    .join("");
}

/** A question to `millrace chat`, from a file. */
async function piped({ gateway, home, model }: Target, text: string): Promise<string> {
  const file = join(home, "..", "question.txt");
  writeFileSync(file, text);
  const under = ["sh", "-c", 'exec "$@" < "$0"', file];
  const { code, stdout, stderr } = await millrace(["chat", "-m", model], { home, under });
  if (code !== 0) throw new Error(`millrace chat ended with ${String(code)} at ${gateway.url}: ${stderr}`);
  return stdout.trim();
}

/** A call of the client's tool, then a request whose result of it is the text. */
async function asResult(target: Target, text: string): Promise<string> {
  const asked = [user(callStep)];
  const message = await chat(target, asked, { tools: [functionTool] });
  const calls = message.tool_calls ?? [];
  if (calls.length !== 1) throw new Error(`no call of the client's tool: ${JSON.stringify(message)}`);
  const results = calls.map(({ id }) => ({ role: "tool", tool_call_id: id, content: text }));
  return says(target, [...asked, message, ...results], { tools: [functionTool] });
}

async function asMessagesResult(target: Target, text: string): Promise<string> {
  const asked = [user(callStep)];
  const tools = [{ name: clientTool.name, input_schema: clientTool.parameters }];
  const body = { max_tokens: 1000, messages: asked, tools };
  const { content } = await post<{ content: readonly { type: string; id: string }[] }>(target, "/v1/messages", body);
  const calls = content.filter(({ type }) => type === "tool_use");
  if (calls.length !== 1) throw new Error(`no call of the client's tool: ${JSON.stringify(content)}`);
  const results = calls.map(({ id }) => ({ type: "tool_result", tool_use_id: id, content: [textPart(text)] }));
  return messages(target, results, { messages: [...asked, { role: "assistant", content }, user(results)], tools });
}

/** A conversation that the gateway knows: its first turn, then the text. */
async function secondTurn(target: Target, text: string, more: object = {}): Promise<string> {
  const first = [user("Please count to 2.")];
  const answer = await says(target, first, more);
  return says(target, [...first, { role: "assistant", content: answer }, user(text)], more);
}

const way = (name: string, send: Way["send"], more: Partial<Way> = {}): Way => {
  return { name, send, requests: 1, arrives: "user", hasTool: false, ...more };
};
const system = { role: "system", content: "You are brief." };
const inHistory = { arrives: "anywhere" } as const;

/** All ways. The order is the one in which they are paired with texts. */
export const ways: readonly Way[] = [
  way("Chat Completions", (to, text) => says(to, [user(text)])),
  way("Messages", messages),
  way("Responses", responses),
  way("Ollama's chat", async (to, text) => {
    const { message } = await post<{ message: { content: string } }>(to, "/api/chat", { messages: [user(text)] });
    return message.content;
  }),
  way("Ollama's generate", async (to, text) => {
    return (await post<{ response: string }>(to, "/api/generate", { prompt: text })).response;
  }),
  way("millrace chat, piped", piped),
  way("the second turn", secondTurn, { requests: 2 }),
  way(
    "the second turn, with a system text and a tool",
    async (to, text) => {
      const first = [system, user("Please count to 2.")];
      const answer = await says(to, first, { tools: [functionTool] });
      return says(to, [...first, { role: "assistant", content: answer }, user(text)], { tools: [functionTool] });
    },
    { requests: 2, hasTool: true },
  ),
  way("a history that is new here", (to, text) => says(to, [...hello, user(text)])),
  way("with a system text", (to, text) => says(to, [system, user(text)])),
  way("Messages with a system text", (to, text) => messages(to, text, { system: "You are brief." })),
  way("with a tool", (to, text) => says(to, [user(text)], { tools: [functionTool] }), { hasTool: true }),
  way("for JSON", (to, text) => says(to, [user(text)], { response_format: { type: "json_object" } })),
  way("after blanks", (to, text) => says(to, [user(` \n\t${text}`)])),
  way("after an empty text block", (to, text) => says(to, [user([textPart(""), textPart(text)])])),
  way("after a text block", (to, text) => says(to, [user([textPart("Hello."), textPart(text)])])),
  way("before a text block", (to, text) => says(to, [user([textPart(text), textPart("Hello.")])])),
  way("after a picture", (to, text) => {
    const picture = { type: "image_url", image_url: { url: `data:image/png;base64,${pixel}` } };
    return says(to, [user([picture, textPart(text)])]);
  }),
  way("in the middle of a line", (to, text) => says(to, [user(`Look at this: ${text}`)])),
  way("in a later line", (to, text) => says(to, [user(`Hello.\n\n${text}`)])),
  way(
    "an earlier message",
    (to, text) => says(to, [user(text), hello[1] ?? system, user("Please count to 3.")]),
    inHistory,
  ),
  way(
    "an earlier answer",
    (to, text) => {
      return says(to, [user("Hello."), { role: "assistant", content: text }, user("Please count to 3.")]);
    },
    inHistory,
  ),
  way(
    "a system text",
    (to, text) => says(to, [{ role: "system", content: text }, user("Please count to 3.")]),
    inHistory,
  ),
  way("a tool's result", asResult, { ...inHistory, requests: 2, hasTool: true }),
  way("a tool's result, in Messages", asMessagesResult, { ...inHistory, requests: 2, hasTool: true }),
  way(
    "an earlier tool's result",
    (to, text) => {
      const call = { id: "call_1", type: "function", function: { name: clientTool.name, arguments: '{"at":"0"}' } };
      const said = [
        user("Hello."),
        { role: "assistant", content: null, tool_calls: [call] },
        { role: "tool", tool_call_id: "call_1", content: text },
        { role: "assistant", content: "Hello." },
        user("Please count to 3."),
      ];
      return says(to, said, { tools: [functionTool] });
    },
    { ...inHistory, hasTool: true },
  ),
  way(
    "a tool's description",
    (to, text) => {
      const described = { type: "function", function: { ...clientTool, description: text } };
      return says(to, [user("Please count to 3.")], { tools: [described] });
    },
    { arrives: "changed", hasTool: true },
  ),
];
