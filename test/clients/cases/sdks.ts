import { type Bench, type Scenario, scenarios } from "../bench.ts";
import type { ClientCase } from "./case.ts";

/** Every scenario through a driver of ours (`drivers/<name>.mjs`). */
function driven(name: string, surface?: string): ClientCase["drive"] {
  const entries = scenarios.map(
    (scenario: Scenario) => [scenario, (bench: Bench) => bench.driver(name, scenario, surface)] as const,
  );
  return Object.fromEntries(entries) as ClientCase["drive"]; // one entry a scenario
}

export const sdkCases: readonly ClientCase[] = [
  { name: "OpenAI SDK", packageName: "openai", surface: "chat completions", drive: driven("openai-chat") },
  { name: "OpenAI SDK", packageName: "openai", surface: "responses", drive: driven("openai-responses") },
  { name: "Anthropic SDK", packageName: "@anthropic-ai/sdk", surface: "messages", drive: driven("anthropic") },
  { name: "Vercel AI SDK", packageName: "ai", surface: "chat completions", drive: driven("ai-sdk", "compatible") },
  {
    name: "Vercel AI SDK",
    packageName: "ai",
    surface: "responses",
    drive: driven("ai-sdk", "openai"),
  },
  { name: "Vercel AI SDK", packageName: "ai", surface: "messages", drive: driven("ai-sdk", "anthropic") },
  { name: "LangChain", packageName: "@langchain/openai", surface: "chat completions", drive: driven("langchain") },
];
