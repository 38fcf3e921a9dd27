import type { Client } from "./client.ts";

/**
 * Cline keeps its settings inside VS Code, out of reach of a file; on the command line it stores them, with the key, by a
 * command of its own. Source: cline 3.0.65, `cline auth --help`.
 */
export const cline: Client = {
  name: "cline",
  title: "Cline",
  notes: ({ url, model }) => [
    "In Cline's settings choose the API provider `OpenAI Compatible`, then type:",
    `  Base URL   ${url}/v1`,
    "  API key    what `millrace key --value` prints",
    `  Model      ${model}`,
    "On the command line:",
    `  cline auth -p openai-compatible -b ${url}/v1 -m ${model} -k "$(millrace key --value)"`,
  ],
};
