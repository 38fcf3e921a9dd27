import { type Bench, type Ran, type Scenario, scenarios } from "../bench.ts";
import type { ClientCase } from "./case.ts";
import { callsForm } from "./clis.ts";

/** One scenario through a driver of ours (`drivers/<name>.mjs`), which prints the answer and nothing else. */
async function driven(bench: Bench, name: string, scenario: Scenario, surface?: string, prompt?: string): Promise<Ran> {
  const ran = await bench.driver(name, scenario, surface, prompt);
  if (scenario === "plain" && ran.stdout !== "milled-4711\n") throw new Error(`the answer is ${ran.stdout}`);
  return ran;
}

/** A client on one surface; `names` is what its driver calls that surface, if it knows several. */
function sdk(
  [name, packageName, surface]: readonly [string, string, ClientCase["surface"]],
  [driver, names]: readonly [string, string?],
  {
    lacks = {},
    jsonPrompt,
    ...more
  }: Pick<ClientCase, "known" | "knownAfter" | "ask"> & {
    readonly lacks?: Partial<Record<Scenario, string>>;
    /** In place of the usual one. */
    readonly jsonPrompt?: string;
  } = {},
): ClientCase {
  const drive = scenarios.map((scenario) => {
    const prompt = scenario === "json" ? jsonPrompt : undefined;
    return [scenario, lacks[scenario] ?? ((bench: Bench) => driven(bench, driver, scenario, names, prompt))] as const;
  });
  return {
    name,
    packageName,
    surface,
    drive: Object.fromEntries(drive) as ClientCase["drive"], // one entry a scenario
    ask: (bench, prompt) => bench.driver(driver, "failure", names, prompt),
    ...more,
  };
}

const cannotStop = "a program that leaves its stream does not end the request";

export const sdkCases: readonly ClientCase[] = [
  sdk(["OpenAI SDK", "openai", "chat completions"], ["openai-chat"]),
  sdk(["OpenAI SDK", "openai", "responses"], ["openai-responses"]),
  sdk(["OpenAI SDK", "openai", "responses, WebSocket"], ["openai-responses-ws"], { ask: undefined }),
  sdk(["Anthropic SDK", "@anthropic-ai/sdk", "messages"], ["anthropic"]),
  sdk(["Vercel AI SDK", "ai", "chat completions"], ["ai-sdk", "compatible"]),
  sdk(["Vercel AI SDK", "ai", "responses"], ["ai-sdk", "openai"]),
  sdk(["Vercel AI SDK", "ai", "messages"], ["ai-sdk", "anthropic"]),
  sdk(["LangChain", "@langchain/openai", "chat completions"], ["langchain", "chat"]),
  sdk(["LangChain", "@langchain/openai", "responses"], ["langchain", "responses"]),
  sdk(["LangChain", "@langchain/anthropic", "messages"], ["langchain", "anthropic"]),
  sdk(["OpenAI Agents SDK", "@openai/agents", "chat completions"], ["openai-agents", "chat"]),
  sdk(["OpenAI Agents SDK", "@openai/agents", "responses"], ["openai-agents", "responses"]),
  sdk(["Claude Agent SDK", "@anthropic-ai/claude-agent-sdk", "messages"], ["claude-agent"], { jsonPrompt: callsForm }),
  sdk(["LlamaIndex", "@llamaindex/openai", "chat completions"], ["llamaindex", "chat"], {
    lacks: { cancel: cannotStop },
  }),
  sdk(["LlamaIndex", "@llamaindex/openai", "responses"], ["llamaindex", "responses"], {
    lacks: { cancel: cannotStop, json: "its model of this API does not send the schema" },
    known: { plain: "its model of this API repeats a text with each event that follows" },
  }),
  sdk(["Genkit", "genkit", "chat completions"], ["genkit"], {
    lacks: { json: "its plugin asks for JSON in the text of the prompt alone" },
  }),
  sdk(["Mastra", "@mastra/core", "chat completions"], ["mastra"]),
  sdk(["instructor", "@instructor-ai/instructor", "chat completions"], ["instructor"], {
    lacks: { tools: "it runs no tools" },
  }),
  sdk(["Ollama client", "ollama", "ollama"], ["ollama"]),
];
