import type { Client } from "./client.ts";

/**
 * Cline in VS Code keeps its settings where no file reaches them. Its command line stores them, with the key, by
 * `cline auth`. Source: cline 3.0.65, `cline auth --help`.
 */
export const cline: Client = {
  name: "cline",
  title: "Cline",
  programs: ["cline"],
  notes: ({ url, model, keyCommand }) => [
    "In Cline's settings choose the API provider `OpenAI Compatible`, then type:",
    `  Base URL   ${url}/v1`,
    `  API key    what this prints: ${keyCommand}`,
    `  Model      ${model}`,
    "On the command line:",
    `  cline auth -p openai-compatible -b ${url}/v1 -m ${model} -k "$(${keyCommand})"`,
  ],
};
