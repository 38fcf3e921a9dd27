// One scenario through the Vercel AI SDK, over the provider that SURFACE names.
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, jsonSchema, Output, stepCountIs, streamText, tool } from "ai";
import {
  API_KEY,
  BASE_URL,
  commandSchema,
  drive,
  isFailure,
  joined,
  MODEL,
  PROMPT,
  picture,
  ran,
  SURFACE,
  schema,
  stopped,
} from "./scenario.mjs";

const options = { baseURL: `${BASE_URL}/v1`, apiKey: API_KEY };
const providers = {
  compatible: () => createOpenAICompatible({ name: "millrace", ...options, supportsStructuredOutputs: true })(MODEL),
  openai: () => createOpenAI(options).responses(MODEL),
  anthropic: () => createAnthropic(options)(MODEL),
};
const model = providers[SURFACE]();
const asked = { model, prompt: PROMPT };
const bash = tool({
  description: "Runs a command.",
  inputSchema: jsonSchema(commandSchema),
  execute: async (args) => ran(args),
});
const streamed = async (fields) => {
  let failure;
  const onError = ({ error }) => (failure = error);
  const text = await joined(
    streamText({ ...asked, ...(isFailure ? {} : { maxRetries: 0 }), onError, ...fields }).textStream,
  );
  if (failure !== undefined) throw failure;
  return text;
};
await drive(
  {
    plain: () => streamed({}),
    tools: () => streamed({ tools: { bash }, stopWhen: stepCountIs(6) }),
    json: async () =>
      JSON.stringify((await generateText({ ...asked, output: Output.object({ schema: jsonSchema(schema) }) })).output),
    async image() {
      const content = [
        { type: "text", text: PROMPT },
        { type: "image", image: picture(), mediaType: "image/png" },
      ];
      return (await generateText({ model, messages: [{ role: "user", content }] })).text;
    },
    cancel: () => stopped(({ signal }) => streamText({ ...asked, abortSignal: signal, onError() {} }).textStream),
  },
  (error) => `${error?.name}: ${error?.message} ${error?.responseBody ?? ""}`,
);
