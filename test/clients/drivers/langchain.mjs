// One scenario through LangChain, over the model that SURFACE names. Streams by `.stream()`; `streaming: true` with `.invoke()` hangs offline.
import { readFileSync } from "node:fs";
import { ChatAnthropic } from "@langchain/anthropic";
import { AIMessageChunk, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { ChatOpenAI } from "@langchain/openai";
import { z } from "zod";

const { BASE_URL, API_KEY, MODEL, PROMPT, IMAGE, SURFACE } = process.env;
const options = {
  model: MODEL,
  apiKey: API_KEY,
  ...(process.argv[2] === "failure" ? {} : { maxRetries: 0 }), // as often as it does by itself
};
const openAi = { ...options, configuration: { baseURL: `${BASE_URL}/v1` } };
const models = {
  chat: () => new ChatOpenAI({ ...openAi, useResponsesApi: false }),
  responses: () => new ChatOpenAI({ ...openAi, useResponsesApi: true }),
  anthropic: () => new ChatAnthropic({ ...options, anthropicApiUrl: BASE_URL }),
};
const model = models[SURFACE]();
const bash = tool(async ({ command }) => `ran ${command}`, {
  name: "bash",
  description: "Runs a command.",
  schema: z.object({ command: z.string() }),
});
const whole = async (runnable, messages, options) => {
  let answer = new AIMessageChunk("");
  for await (const chunk of await runnable.stream(messages, options)) answer = answer.concat(chunk);
  return answer;
};
const scenarios = {
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
    const schema = z.object({ city: z.string(), days: z.number().int() });
    return JSON.stringify(
      await model.withStructuredOutput(schema, { name: "trip", method: "jsonSchema" }).invoke(PROMPT),
    );
  },
  async image() {
    const url = `data:image/png;base64,${readFileSync(IMAGE).toString("base64")}`;
    return (
      await whole(model, [
        new HumanMessage({
          content: [
            { type: "text", text: PROMPT },
            { type: "image_url", image_url: { url } },
          ],
        }),
      ])
    ).text;
  },
  async cancel() {
    const stop = new AbortController();
    for await (const chunk of await model.stream([new HumanMessage(PROMPT)], { signal: stop.signal }))
      if (chunk.text !== "") break;
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
