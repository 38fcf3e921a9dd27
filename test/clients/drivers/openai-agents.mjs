// One scenario through the OpenAI Agents SDK, over the API that SURFACE names.
import { Agent, OpenAIProvider, Runner, tool } from "@openai/agents";
import { z } from "zod";
import { API_KEY, BASE_URL, drive, joined, MODEL, PROMPT, pictureUrl, ran, SURFACE, stopped } from "./scenario.mjs";

const useResponses = SURFACE === "responses";
const modelProvider = new OpenAIProvider({ apiKey: API_KEY, baseURL: `${BASE_URL}/v1`, useResponses });
const runner = new Runner({ modelProvider, model: MODEL, tracingDisabled: true }); // traces go to the vendor
const parameters = z.object({ command: z.string() });
const bash = tool({ name: "bash", description: "Runs a command.", parameters, execute: ran });
const agent = (fields) => new Agent({ name: "Miller", ...fields });
const streamed = async (fields) => {
  const result = await runner.run(agent(fields), PROMPT, { stream: true });
  const text = await joined(result.toTextStream());
  await result.completed;
  return text;
};
await drive({
  plain: () => streamed({}),
  tools: () => streamed({ tools: [bash] }),
  async json() {
    const outputType = z.object({ city: z.string(), days: z.number().int() });
    return JSON.stringify((await runner.run(agent({ outputType }), PROMPT)).finalOutput);
  },
  async image() {
    const content = [
      { type: "input_text", text: PROMPT },
      { type: "input_image", image: pictureUrl() },
    ];
    return (await runner.run(agent({}), [{ role: "user", content }])).finalOutput;
  },
  cancel: () =>
    stopped(async ({ signal }) => (await runner.run(agent({}), PROMPT, { stream: true, signal })).toTextStream()),
});
