import { type Bench, type Scenario, scenarios } from "../bench.ts";
import type { Ask, ClientCase } from "./case.ts";

/** Every scenario through a driver of ours (`drivers/<name>.mjs`). */
function driven(name: string, surface?: string): ClientCase["drive"] {
  const entries = scenarios.map(
    (scenario: Scenario) => [scenario, (bench: Bench) => bench.driver(name, scenario, surface)] as const,
  );
  return Object.fromEntries(entries) as ClientCase["drive"]; // one entry a scenario
}

function asked(name: string, surface?: string): Ask {
  return (bench, prompt) => bench.driver(name, "failure", surface, prompt);
}

export const sdkCases: readonly ClientCase[] = [
  {
    name: "OpenAI SDK",
    packageName: "openai",
    surface: "chat completions",
    drive: driven("openai-chat"),
    ask: asked("openai-chat"),
  },
  {
    name: "OpenAI SDK",
    packageName: "openai",
    surface: "responses",
    drive: driven("openai-responses"),
    ask: asked("openai-responses"),
  },
  {
    name: "Anthropic SDK",
    packageName: "@anthropic-ai/sdk",
    surface: "messages",
    drive: driven("anthropic"),
    ask: asked("anthropic"),
  },
  {
    name: "Vercel AI SDK",
    packageName: "ai",
    surface: "chat completions",
    drive: driven("ai-sdk", "compatible"),
    ask: asked("ai-sdk", "compatible"),
  },
  {
    name: "Vercel AI SDK",
    packageName: "ai",
    surface: "responses",
    drive: driven("ai-sdk", "openai"),
    ask: asked("ai-sdk", "openai"),
  },
  {
    name: "Vercel AI SDK",
    packageName: "ai",
    surface: "messages",
    drive: driven("ai-sdk", "anthropic"),
    ask: asked("ai-sdk", "anthropic"),
  },
  {
    name: "LangChain",
    packageName: "@langchain/openai",
    surface: "chat completions",
    drive: driven("langchain"),
    ask: asked("langchain"),
  },
];
