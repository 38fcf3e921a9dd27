import type { GatewayProcess } from "./gateway-process.ts";

/** Where a client asks, and under which key. */
type Target = Pick<GatewayProcess, "url" | "key"> & { readonly idempotencyKey?: string };

/** The tool that the clients of these loops run. */
export interface LoopTool {
  readonly name: string;
  readonly parameters: object;
}

/** The tool that the stand-in's model calls in a loop. */
export const bashTool = {
  name: "bash",
  parameters: { type: "object", properties: { command: { type: "string" } }, required: ["command"] },
} as const;

/** The same as Chat Completions have it. */
export const bash = { type: "function", function: bashTool } as const;

/** A loop of three calls in two rounds, and all that the agent says at its end. */
export const agentLoop = {
  model: "swe-2:high",
  tool: bashTool,
  question: "[[sim: agent=loop]] Look.",
  commands: ["echo millrace-1", "echo millrace-2", "echo millrace-3"].map((command) => ({ command })),
  text: "All done. The tools said: r1 | r2 | r3",
} as const;

/** One answer: its calls, its text, and the messages that a client puts into its history. */
interface Round {
  readonly calls: readonly { readonly id: string; readonly args: Readonly<Record<string, unknown>> }[];
  readonly text: string;
  readonly messages: readonly object[];
  /** `x-millrace-tools` of the answer. */
  readonly way: string | null;
}

/** How one API carries a loop. */
export interface LoopApi {
  readonly name: string;
  readonly ask: (target: Target, model: string, messages: readonly object[], tool: LoopTool) => Promise<Round>;
  /** The messages that answer the calls of one round. */
  readonly results: (results: readonly { readonly id: string; readonly text: string }[]) => readonly object[];
}

async function post<T>(target: Target, path: string, body: object): Promise<T & Pick<Round, "way">> {
  const { url, key, idempotencyKey } = target;
  const response = await fetch(`${url}${path}`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${key}`,
      "content-type": "application/json",
      ...(idempotencyKey && { "idempotency-key": idempotencyKey }),
    },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(120_000),
  });
  const answer = (await response.json()) as T; // the gateway's
  if (!response.ok) throw new Error(JSON.stringify(answer));
  return { ...answer, way: response.headers.get("x-millrace-tools") };
}

const parsed = (text: string) => JSON.parse(text) as Readonly<Record<string, unknown>>; // an object: the gateway checked it

export const chatLoop: LoopApi = {
  name: "Chat Completions",
  async ask(target, model, messages, tool) {
    const tools = [{ type: "function", function: tool }];
    const { choices, way } = await post<{
      choices: {
        message: { content: string | null; tool_calls?: { id: string; function: { arguments: string } }[] };
      }[];
    }>(target, "/v1/chat/completions", { model, messages, tools });
    const message = choices[0]?.message ?? { content: "" };
    const calls = (message.tool_calls ?? []).map((call) => ({ id: call.id, args: parsed(call.function.arguments) }));
    return { calls, text: message.content ?? "", messages: [message], way };
  },
  results: (results) => results.map(({ id, text }) => ({ role: "tool", tool_call_id: id, content: text })),
};

/** A client that sends each call of an answer back in a message of its own, each before its result. */
export function callsOneByOne(): LoopApi {
  const given = new Map<string, object>();
  return {
    name: "Chat Completions, with each call in a message of its own",
    async ask(...asked) {
      const round = await chatLoop.ask(...asked);
      if (round.calls.length === 0) return round;
      const [{ tool_calls: calls }] = round.messages as [{ tool_calls: { id: string }[] }];
      for (const call of calls) given.set(call.id, { role: "assistant", content: "", tool_calls: [call] });
      return { ...round, messages: [] };
    },
    results: (results) => results.flatMap((result) => [given.get(result.id) ?? {}, ...chatLoop.results([result])]),
  };
}

export const responsesLoop: LoopApi = {
  name: "Responses",
  async ask(target, model, input, tool) {
    const { output, way } = await post<{
      output: { type: string; call_id: string; arguments: string; content?: { text: string }[] }[];
    }>(target, "/v1/responses", { model, input, tools: [{ type: "function", ...tool }] });
    const calls = output.filter(({ type }) => type === "function_call");
    const text = output.flatMap(({ type, content }) => (type === "message" ? (content ?? []) : []));
    return {
      calls: calls.map((call) => ({ id: call.call_id, args: parsed(call.arguments) })),
      text: text.map((part) => part.text).join(""),
      messages: output,
      way,
    };
  },
  results: (results) => results.map(({ id, text }) => ({ type: "function_call_output", call_id: id, output: text })),
};

export const messagesLoop: LoopApi = {
  name: "Messages",
  async ask(target, model, messages, { name, parameters }) {
    const tools = [{ name, input_schema: parameters }];
    const { content, way } = await post<{
      content: { type: string; id: string; text?: string; input: Readonly<Record<string, unknown>> }[];
    }>(target, "/v1/messages", { model, max_tokens: 1000, messages, tools });
    const calls = content.filter(({ type }) => type === "tool_use");
    return {
      calls: calls.map(({ id, input }) => ({ id, args: input })),
      text: content.map(({ text = "" }) => text).join(""),
      messages: [{ role: "assistant", content }],
      way,
    };
  },
  results: (results) => [
    {
      role: "user",
      content: results.map(({ id, text }) => ({ type: "tool_result", tool_use_id: id, content: text })),
    },
  ],
};

export const loopApis: readonly LoopApi[] = [chatLoop, responsesLoop, messagesLoop];

/**
 * A client's whole loop: the arguments of each round's calls, the text of the last answer, and which ways the tools took. The results
 * are `r1`, `r2`, …
 */
export async function runLoop(
  api: LoopApi,
  target: Target,
  { model, question, tool }: { readonly model: string; readonly question: string; readonly tool: LoopTool },
): Promise<{
  readonly rounds: readonly (readonly object[])[];
  readonly text: string;
  readonly ways: readonly (string | null)[];
}> {
  const messages: object[] = [{ role: "user", content: question }];
  const rounds: object[][] = [];
  const ways = new Set<string | null>();
  let results = 0;
  for (;;) {
    const answer = await api.ask(target, model, messages, tool);
    ways.add(answer.way);
    if (answer.calls.length === 0) return { rounds, text: answer.text, ways: [...ways] };
    rounds.push(answer.calls.map(({ args }) => args));
    messages.push(...answer.messages, ...api.results(answer.calls.map(({ id }) => ({ id, text: `r${++results}` }))));
  }
}
