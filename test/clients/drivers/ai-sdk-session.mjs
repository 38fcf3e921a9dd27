// One message of a session through the Vercel AI SDK, over the provider that SURFACE names: streamed, or whole in every other message.
import { API_KEY, BASE_URL, commandSchema, joined, MODEL, ran, SURFACE, schema } from "./scenario.mjs";
import { history, isJson, STEP, signal, text, turn, withPicture } from "./session.mjs";

const [provider, form, major] = SURFACE.split(" ");
/** An older major version lies beside the newest one, by another name. */
const load = (name, older) => import(major === undefined ? name : `${older}-${major}`);
const { generateText, jsonSchema, Output, stepCountIs, streamText, tool } = await load("ai", "ai");
const { createAnthropic } = await load("@ai-sdk/anthropic", "ai-sdk-anthropic");
const { createOpenAI } = await load("@ai-sdk/openai", "ai-sdk-openai");
const { createOpenAICompatible } = await load("@ai-sdk/openai-compatible", "ai-sdk-compatible");
const output = major === "5" ? "experimental_output" : "output";
const options = { baseURL: `${BASE_URL}/v1`, apiKey: API_KEY };
const model = {
  openai: () => createOpenAI(options)(MODEL),
  chat: () => createOpenAI(options).chat(MODEL),
  compatible: () => createOpenAICompatible({ name: "millrace", ...options, supportsStructuredOutputs: true })(MODEL),
  anthropic: () => createAnthropic(options)(MODEL),
}[provider]();
const bash = tool({
  description: "Runs a command.",
  inputSchema: jsonSchema(commandSchema),
  execute: async (args) => ran(args),
});
const image = withPicture && [{ type: "image", image: withPicture, mediaType: "image/png" }];
history.push({ role: "user", content: image ? [{ type: "text", text }, ...image] : text });
const asked = {
  model,
  messages: history,
  abortSignal: signal,
  tools: { bash },
  stopWhen: stepCountIs(6),
  ...(isJson && { [output]: Output.object({ schema: jsonSchema(schema) }) }),
};
const isWhole = form === "whole" || STEP === "second turn";

await turn(async () => {
  if (isWhole && STEP !== "abort") {
    const answer = await generateText(asked);
    history.push(...answer.response.messages);
    return isJson ? JSON.stringify(answer[output]) : answer.text;
  }
  let failure;
  const answer = streamText({ ...asked, onError: ({ error }) => (failure = error) });
  const said = await joined(answer.textStream);
  if (failure !== undefined) throw failure;
  history.push(...(await answer.response).messages);
  return said;
});
