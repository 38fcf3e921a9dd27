// One scenario through Genkit, with its plugin for APIs like OpenAI's.
import { readFileSync } from "node:fs";
import { openAICompatible } from "@genkit-ai/compat-oai";
import { genkit, z } from "genkit";

const { BASE_URL, API_KEY, MODEL, PROMPT, IMAGE } = process.env;
const plugin = openAICompatible({ name: "millrace", apiKey: API_KEY, baseURL: `${BASE_URL}/v1` });
const ai = genkit({ plugins: [plugin], model: `millrace/${MODEL}` });
const bash = ai.defineTool(
  { name: "bash", description: "Runs a command.", inputSchema: z.object({ command: z.string() }) },
  async ({ command }) => `ran ${command}`,
);
const streamed = async (fields) => {
  const { stream, response } = ai.generateStream({ prompt: PROMPT, ...fields });
  let text = "";
  for await (const piece of stream) text += piece.text;
  await response;
  return text;
};
const scenarios = {
  plain: () => streamed({}),
  tools: () => streamed({ tools: [bash] }),
  async image() {
    const url = `data:image/png;base64,${readFileSync(IMAGE).toString("base64")}`;
    return (await ai.generate({ prompt: [{ text: PROMPT }, { media: { url } }] })).text;
  },
  async cancel() {
    const stop = new AbortController();
    const { stream, response } = ai.generateStream({ prompt: PROMPT, abortSignal: stop.signal });
    for await (const piece of stream) if (piece.text !== "") break;
    stop.abort();
    await response.catch(() => {});
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
