// One scenario through Mastra, whose models are named by an id and an address.
import { Agent } from "@mastra/core/agent";
import { createTool } from "@mastra/core/tools";
import { z } from "zod";
import { API_KEY, BASE_URL, drive, joined, MODEL, PROMPT, picture, ran, stopped } from "./scenario.mjs";

const model = { providerId: "millrace", modelId: MODEL, url: `${BASE_URL}/v1`, apiKey: API_KEY };
const bash = createTool({
  id: "bash",
  description: "Runs a command.",
  inputSchema: z.object({ command: z.string() }),
  execute: async (args) => ran(args),
});
const agent = (fields = {}) => new Agent({ id: "miller", name: "Miller", instructions: "You help.", model, ...fields });
const streamed = async (miller) => {
  const output = await miller.stream(PROMPT, { maxSteps: 6 });
  const text = await joined(output.textStream);
  if (output.error !== undefined) throw output.error;
  return text;
};
await drive({
  plain: () => streamed(agent()),
  tools: () => streamed(agent({ tools: { bash } })),
  async json() {
    const schema = z.object({ city: z.string(), days: z.number().int() });
    return JSON.stringify((await agent().generate(PROMPT, { structuredOutput: { schema } })).object);
  },
  async image() {
    const content = [
      { type: "text", text: PROMPT },
      { type: "image", image: picture(), mimeType: "image/png" },
    ];
    return (await agent().generate([{ role: "user", content }])).text;
  },
  cancel: () => stopped(async ({ signal }) => (await agent().stream(PROMPT, { abortSignal: signal })).textStream),
});
