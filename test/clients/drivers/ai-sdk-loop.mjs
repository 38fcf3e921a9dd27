// A tool loop, or one answer, through the Vercel AI SDK; SURFACE is "form provider [major version]". The tool's call ends when HOLD answers, so
// that the gateway can die in the meantime. The form `useChat` is the chat that React's hook wraps, with a server of its own between.
import { once } from "node:events";
import { createServer } from "node:http";
import { API_KEY, BASE_URL, commandSchema, joined, MODEL, PROMPT, ran, SURFACE } from "./scenario.mjs";

globalThis.AI_SDK_LOG_WARNINGS = false; // version 6 writes them to stdout
const [form, provider, major] = SURFACE.split(" ");
const load = (name, older) => import(major === undefined ? name : `${older}-${major}`);
const ai = await load("ai", "ai");
const { createOpenAI } = await load("@ai-sdk/openai", "ai-sdk-openai");
const { createAnthropic } = await load("@ai-sdk/anthropic", "ai-sdk-anthropic");
const options = { baseURL: `${BASE_URL}/v1`, apiKey: API_KEY };
const model = {
  responses: () => createOpenAI(options).responses(MODEL),
  chat: () => createOpenAI(options).chat(MODEL),
  messages: () => createAnthropic(options)(MODEL),
}[provider]();
const bash = ai.tool({
  description: "Runs a command.",
  inputSchema: ai.jsonSchema(commandSchema),
  async execute(args) {
    process.stderr.write(`ran ${args.command}\n`);
    await fetch(process.env.HOLD);
    return ran(args);
  },
});
const settings = { model, tools: { bash }, stopWhen: ai.stepCountIs(6) };
const agent = () => new (ai.ToolLoopAgent ?? ai.Experimental_Agent)(settings);

/** React's state of a chat, without React. */
const chatState = {
  status: "ready",
  error: undefined,
  messages: [],
  pushMessage: (message) => chatState.messages.push(message),
  popMessage: () => chatState.messages.pop(),
  replaceMessage: (index, message) => (chatState.messages[index] = message),
  snapshot: (value) => structuredClone(value),
};

async function chatted() {
  process.on("unhandledRejection", () => {}); // of the server's answer, which version 7 leaves to its process
  const answered = async (request, response) => {
    const { messages } = JSON.parse(await joined(request));
    const answer = ai.streamText({ ...settings, messages: await ai.convertToModelMessages(messages), onError() {} });
    if (answer.pipeUIMessageStreamToResponse) return answer.pipeUIMessageStreamToResponse(response);
    const stream = ai.toUIMessageStream({ stream: answer.stream, tools: settings.tools });
    return ai.pipeUIMessageStreamToResponse({ response, stream });
  };
  const server = createServer((request, response) => void answered(request, response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const chat = new (class extends ai.AbstractChat {})({
    state: chatState,
    transport: new ai.DefaultChatTransport({ api: `http://127.0.0.1:${server.address().port}/` }),
    onError: ({ message }) => process.stderr.write(`error ${message}\n`),
  });
  await chat.sendMessage({ text: PROMPT });
  if (process.env.AGAIN) await chat.regenerate(); // as its user does by the button
  server.close();
  server.closeAllConnections();
  const said = chat.messages.at(-1).parts.flatMap((part) => (part.type === "text" ? [part.text] : []));
  return chat.status === "ready" ? said.join("") : `${chat.status}: ${chat.error}`;
}

const forms = {
  generateText: async () => (await ai.generateText({ ...settings, prompt: PROMPT })).text,
  streamText: async () => joined(ai.streamText({ ...settings, prompt: PROMPT, onError() {} }).textStream),
  generate: async () => (await agent().generate({ prompt: PROMPT })).text,
  stream: async () => joined((await agent().stream({ prompt: PROMPT })).textStream),
  object: async () => {
    const output = ai.Output.object({
      schema: ai.jsonSchema({ type: "object", properties: { said: { type: "string" } } }),
    });
    const key = major === "5" ? "experimental_output" : "output";
    return (await ai.generateText({ ...settings, [key]: output, prompt: PROMPT }))[key].said;
  },
  useChat: chatted,
};
process.stdout.write(`${await forms[form]()}\n`);
