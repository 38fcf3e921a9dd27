// One scenario through LlamaIndex, over the model of @llamaindex/openai that SURFACE names.
import { readFileSync } from "node:fs";
import { OpenAI, OpenAIResponses } from "@llamaindex/openai";
import { agent } from "@llamaindex/workflow";
import { tool } from "llamaindex";
import { z } from "zod";

const { BASE_URL, API_KEY, MODEL, PROMPT, IMAGE, SURFACE } = process.env;
const Model = SURFACE === "responses" ? OpenAIResponses : OpenAI;
const model = new Model({ model: MODEL, apiKey: API_KEY, baseURL: `${BASE_URL}/v1` });
const question = (content) => [{ role: "user", content }];
const bash = tool({
  name: "bash",
  description: "Runs a command.",
  parameters: z.object({ command: z.string() }),
  execute: ({ command }) => `ran ${command}`,
});
const scenarios = {
  async plain() {
    let text = "";
    for await (const { delta } of await model.chat({ messages: question(PROMPT), stream: true })) text += delta;
    return text;
  },
  tools: async () => (await agent({ llm: model, tools: [bash] }).run(PROMPT)).data.result,
  async json() {
    const responseFormat = z.object({ city: z.string(), days: z.number().int() });
    const { message } = await model.chat({ messages: question(PROMPT), responseFormat });
    return JSON.stringify(JSON.parse(message.content));
  },
  async image() {
    const url = `data:image/png;base64,${readFileSync(IMAGE).toString("base64")}`;
    const content = [
      { type: "text", text: PROMPT },
      { type: "image_url", image_url: { url } },
    ];
    return JSON.stringify((await model.chat({ messages: question(content) })).message.content);
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
