import type { Client } from "./client.ts";
import { shortList } from "./target.ts";

/** Any other client of OpenAI's or Anthropic's API: the values to type into its settings. */
export const generic: Client = {
  name: "generic",
  title: "Any other client",
  programs: [],
  notes: ({ url, model, models, keyCommand }) => [
    `Base URL          ${url}/v1`,
    `  for Anthropic's ${url}, and for Ollama's`,
    `API key           what this prints: ${keyCommand}`,
    "Models            of many; `millrace models` lists all:",
    ...shortList(models, model, 3).map(
      ({ id, contextTokens, maxOutputTokens }) =>
        `  ${[id, ...(contextTokens === undefined ? [] : [`context ${contextTokens}`]), ...(maxOutputTokens === undefined ? [] : [`output ${maxOutputTokens}`])].join(", ")}`,
    ),
    "In code, with the key in MILLRACE_API_KEY:",
    `  AI SDK          createOpenAICompatible({ name: "millrace", baseURL: "${url}/v1", apiKey: process.env.MILLRACE_API_KEY })`,
    `  LangChain       new ChatOpenAI({ model: "${model}", apiKey: process.env.MILLRACE_API_KEY, configuration: { baseURL: "${url}/v1" } })`,
    `Open WebUI        OPENAI_API_BASE_URL=${url}/v1 OPENAI_API_KEY="$(${keyCommand})" open-webui serve`,
  ],
};
