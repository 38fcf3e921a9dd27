// One scenario through LlamaIndex, over the model of @llamaindex/openai that SURFACE names.
import { OpenAI, OpenAIResponses } from "@llamaindex/openai";
import { agent } from "@llamaindex/workflow";
import { tool } from "llamaindex";
import { z } from "zod";
import { API_KEY, BASE_URL, drive, joined, MODEL, PROMPT, pictureUrl, ran, SURFACE } from "./scenario.mjs";

const Model = SURFACE === "responses" ? OpenAIResponses : OpenAI;
const model = new Model({ model: MODEL, apiKey: API_KEY, baseURL: `${BASE_URL}/v1` });
const question = (content) => [{ role: "user", content }];
const parameters = z.object({ command: z.string() });
const bash = tool({ name: "bash", description: "Runs a command.", parameters, execute: ran });
await drive({
  plain: async () => joined(await model.chat({ messages: question(PROMPT), stream: true }), ({ delta }) => delta),
  tools: async () => (await agent({ llm: model, tools: [bash] }).run(PROMPT)).data.result,
  async json() {
    const responseFormat = z.object({ city: z.string(), days: z.number().int() });
    const { message } = await model.chat({ messages: question(PROMPT), responseFormat });
    return JSON.stringify(JSON.parse(message.content));
  },
  async image() {
    const content = [
      { type: "text", text: PROMPT },
      { type: "image_url", image_url: { url: pictureUrl() } },
    ];
    return JSON.stringify((await model.chat({ messages: question(content) })).message.content);
  },
});
