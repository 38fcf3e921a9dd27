import type { Client } from "./client.ts";

/**
 * Cline in VS Code keeps its settings where no file reaches them. Its command line stores them by `cline auth`, which asks for each. Its
 * flag for the key (`-k`) is not used: other users of the machine can read a program's arguments. Source: cline 3.0.65, `cline auth --help`.
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
    "On the command line: `cline auth` asks for the same. Paste the key there, and do not pass it with `-k`: other users could read it.",
  ],
};
