import type { Client } from "./client.ts";
import { shortList } from "./target.ts";

/** Any other client of OpenAI's or Anthropic's API: the values to type into its settings. */
export const generic: Client = {
  name: "generic",
  title: "Any other client",
  programs: [],
  notes: ({ url, model, models, keyCommand }) => [
    `Base URL          ${url}/v1`,
    `  for Anthropic's ${url}`,
    `API key           what this prints: ${keyCommand}`,
    "Models            of many; `millrace models` lists all:",
    ...shortList(models, model, 3).map(
      ({ id, contextTokens, maxOutputTokens }) =>
        `  ${[id, ...(contextTokens === undefined ? [] : [`context ${contextTokens}`]), ...(maxOutputTokens === undefined ? [] : [`output ${maxOutputTokens}`])].join(", ")}`,
    ),
  ],
};
