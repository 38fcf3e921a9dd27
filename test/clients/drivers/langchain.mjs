// One scenario through LangChain, over the model that SURFACE names. Streams by `.stream()`; `streaming: true` with `.invoke()` hangs offline.
import { ChatAnthropic } from "@langchain/anthropic";
import { AIMessageChunk, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { ChatOpenAI } from "@langchain/openai";
import { z } from "zod";
import { API_KEY, BASE_URL, drive, isFailure, MODEL, PROMPT, pictureUrl, ran, SURFACE, stopped } from "./scenario.mjs";

const options = { model: MODEL, apiKey: API_KEY, ...(isFailure ? {} : { maxRetries: 0 }) };
const openAi = { ...options, configuration: { baseURL: `${BASE_URL}/v1` } };
const models = {
  chat: () => new ChatOpenAI({ ...openAi, useResponsesApi: false }),
  responses: () => new ChatOpenAI({ ...openAi, useResponsesApi: true }),
  anthropic: () => new ChatAnthropic({ ...options, anthropicApiUrl: BASE_URL }),
};
const model = models[SURFACE]();
const fields = { name: "bash", description: "Runs a command.", schema: z.object({ command: z.string() }) };
const bash = tool(async (args) => ran(args), fields);
const whole = async (runnable, messages) => {
  let answer = new AIMessageChunk("");
  for await (const chunk of await runnable.stream(messages)) answer = answer.concat(chunk);
  return answer;
};
await drive({
  plain: async () => (await whole(model, [new HumanMessage(PROMPT)])).text,
  async tools() {
    const messages = [new HumanMessage(PROMPT)];
    for (;;) {
      const answer = await whole(model.bindTools([bash]), messages);
      if (!answer.tool_calls?.length) return answer.text;
      messages.push(answer);
      for (const call of answer.tool_calls)
        messages.push(new ToolMessage({ tool_call_id: call.id, content: await bash.invoke(call.args) }));
    }
  },
  async json() {
    const trip = z.object({ city: z.string(), days: z.number().int() });
    return JSON.stringify(
      await model.withStructuredOutput(trip, { name: "trip", method: "jsonSchema" }).invoke(PROMPT),
    );
  },
  async image() {
    const content = [
      { type: "text", text: PROMPT },
      { type: "image_url", image_url: { url: pictureUrl() } },
    ];
    return (await whole(model, [new HumanMessage({ content })])).text;
  },
  cancel: () =>
    stopped(
      ({ signal }) => model.stream([new HumanMessage(PROMPT)], { signal }),
      ({ text }) => text,
    ),
});
