// One scenario through the OpenAI Agents SDK, over the API that SURFACE names.
import { readFileSync } from "node:fs";
import { Agent, OpenAIProvider, Runner, tool } from "@openai/agents";
import { z } from "zod";

const { BASE_URL, API_KEY, MODEL, PROMPT, IMAGE, SURFACE } = process.env;
const modelProvider = new OpenAIProvider({
  apiKey: API_KEY,
  baseURL: `${BASE_URL}/v1`,
  useResponses: SURFACE === "responses",
});
const runner = new Runner({ modelProvider, model: MODEL, tracingDisabled: true }); // traces go to the vendor
const bash = tool({
  name: "bash",
  description: "Runs a command.",
  parameters: z.object({ command: z.string() }),
  execute: ({ command }) => `ran ${command}`,
});
const agent = (fields) => new Agent({ name: "Miller", ...fields });
const streamed = async (input, fields) => {
  const result = await runner.run(agent(fields), input, { stream: true });
  let text = "";
  for await (const piece of result.toTextStream()) text += piece;
  await result.completed;
  return text;
};
const scenarios = {
  plain: () => streamed(PROMPT, {}),
  tools: () => streamed(PROMPT, { tools: [bash] }),
  async json() {
    const outputType = z.object({ city: z.string(), days: z.number().int() });
    return JSON.stringify((await runner.run(agent({ outputType }), PROMPT)).finalOutput);
  },
  async image() {
    const image = `data:image/png;base64,${readFileSync(IMAGE).toString("base64")}`;
    const content = [
      { type: "input_text", text: PROMPT },
      { type: "input_image", image },
    ];
    return (await runner.run(agent({}), [{ role: "user", content }])).finalOutput;
  },
  async cancel() {
    const stop = new AbortController();
    const result = await runner.run(agent({}), PROMPT, { stream: true, signal: stop.signal });
    for await (const piece of result.toTextStream()) if (piece !== "") break;
    stop.abort();
    return "cancelled";
  },
  error: () => scenarios.plain(),
  failure: () => scenarios.plain(),
};
try {
  process.stdout.write(`${await scenarios[process.argv[2]]()}\n`);
} catch (error) {
  process.stdout.write(`${error?.name}: ${error?.message}\n`);
  process.exitCode = ["error", "failure"].includes(process.argv[2]) ? 0 : 1;
}
