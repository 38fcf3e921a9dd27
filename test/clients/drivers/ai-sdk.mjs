// One scenario through the Vercel AI SDK, over the provider that SURFACE names.
import { readFileSync } from "node:fs";
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, jsonSchema, Output, stepCountIs, streamText, tool } from "ai";

const { BASE_URL, API_KEY, MODEL, PROMPT, SCHEMA, IMAGE, SURFACE } = process.env;
const options = { baseURL: `${BASE_URL}/v1`, apiKey: API_KEY };
const providers = {
  compatible: () => createOpenAICompatible({ name: "millrace", ...options, supportsStructuredOutputs: true })(MODEL),
  openai: () => createOpenAI(options).responses(MODEL),
  anthropic: () => createAnthropic(options)(MODEL),
};
const model = providers[SURFACE]();
const bash = tool({
  description: "Runs a command.",
  inputSchema: jsonSchema({ type: "object", properties: { command: { type: "string" } }, required: ["command"] }),
  execute: async ({ command }) => `ran ${command}`,
});
const streamed = async (fields) => {
  let failure;
  const result = streamText({
    model,
    prompt: PROMPT,
    maxRetries: 0,
    onError: ({ error }) => (failure = error),
    ...fields,
  });
  let text = "";
  for await (const piece of result.textStream) text += piece;
  if (failure !== undefined) throw failure;
  return text;
};
const scenarios = {
  plain: () => streamed({}),
  tools: () => streamed({ tools: { bash }, stopWhen: stepCountIs(6) }),
  async json() {
    const { output } = await generateText({
      model,
      prompt: PROMPT,
      output: Output.object({ schema: jsonSchema(JSON.parse(SCHEMA)) }),
    });
    return JSON.stringify(output);
  },
  async image() {
    const content = [
      { type: "text", text: PROMPT },
      { type: "image", image: readFileSync(IMAGE), mediaType: "image/png" },
    ];
    return (await generateText({ model, messages: [{ role: "user", content }] })).text;
  },
  async cancel() {
    const stop = new AbortController();
    const result = streamText({ model, prompt: PROMPT, abortSignal: stop.signal, onError() {} });
    for await (const piece of result.textStream) if (piece !== "") break;
    stop.abort();
    return "cancelled";
  },
  error: () => streamed({}),
  failure: () => streamed({ maxRetries: undefined }), // as often as it does by itself
};
try {
  process.stdout.write(`${await scenarios[process.argv[2]]()}\n`);
} catch (error) {
  process.stdout.write(`${error?.name}: ${error?.message} ${error?.responseBody ?? ""}\n`);
  process.exitCode = ["error", "failure"].includes(process.argv[2]) ? 0 : 1;
}
