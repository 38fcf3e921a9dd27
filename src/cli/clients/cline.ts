import type { Client } from "./client.ts";

/** Cline keeps its settings inside VS Code, out of reach of a file. */
export const cline: Client = {
  name: "cline",
  title: "Cline",
  notes: ({ url, model }) => [
    "In Cline's settings choose the API provider `OpenAI Compatible`, then type:",
    `  Base URL   ${url}/v1`,
    "  API key    what `millrace key --value` prints",
    `  Model      ${model}`,
  ],
};
