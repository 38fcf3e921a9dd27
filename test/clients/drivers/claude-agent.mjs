// One scenario, or one message of a session, through the Claude Agent SDK: it starts the Claude Code that it brings, and keeps the session itself.
import { query } from "@anthropic-ai/claude-agent-sdk";
import { API_KEY, BASE_URL, drive, MODEL, PROMPT, picture, schema } from "./scenario.mjs";

const env = {
  ...process.env,
  ANTHROPIC_BASE_URL: BASE_URL,
  ANTHROPIC_AUTH_TOKEN: API_KEY,
  ANTHROPIC_MODEL: MODEL,
  ANTHROPIC_SMALL_FAST_MODEL: MODEL,
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
  DISABLE_TELEMETRY: "1",
  DISABLE_ERROR_REPORTING: "1",
  DISABLE_AUTOUPDATER: "1",
};
const options = { env, model: MODEL, settingSources: [] };
const scenario = { tools: ["Bash"], allowedTools: ["Bash"] };

/** The last message of a question: its result. Throws what it reports as an error. */
async function result(prompt, more = scenario) {
  let last;
  for await (const message of query({ prompt, options: { ...options, ...more } }))
    if (message.type === "result") last = message;
  if (last?.is_error !== false) throw new Error(last?.result ?? last?.errors?.join(" ") ?? "no result");
  return last;
}

async function say() {
  const { isFirst, isJson, signal, turn } = await import("./session.mjs");
  const abortController = new AbortController();
  signal.addEventListener("abort", () => abortController.abort());
  await turn(async () => {
    const given = { allowedTools: ["Bash", "Read", "Agent", "Task"], abortController, continue: !isFirst };
    if (!isJson) return (await result(PROMPT, given)).result;
    const formed = await result(PROMPT, { ...given, outputFormat: { type: "json_schema", schema } });
    return JSON.stringify(formed.structured_output);
  });
}

if (process.env.STEP !== undefined) await say();
await drive({
  plain: async () => (await result(PROMPT)).result,
  tools: async () => (await result(PROMPT)).result,
  json: async () =>
    JSON.stringify(
      (await result(PROMPT, { ...scenario, outputFormat: { type: "json_schema", schema } })).structured_output,
    ),
  async image() {
    const source = { type: "base64", media_type: "image/png", data: picture() };
    const content = [
      { type: "text", text: PROMPT },
      { type: "image", source },
    ];
    const messages = async function* () {
      yield { type: "user", message: { role: "user", content }, parent_tool_use_id: null };
    };
    return (await result(messages())).result;
  },
  async cancel() {
    const abortController = new AbortController();
    const asked = query({
      prompt: PROMPT,
      options: { ...options, ...scenario, includePartialMessages: true, abortController },
    });
    for await (const message of asked)
      if (message.type === "stream_event" && message.event.type === "content_block_delta") break;
    abortController.abort();
    return "cancelled";
  },
});
