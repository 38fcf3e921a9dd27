// One message of a session through the Claude Agent SDK, which keeps the session itself.
import { query } from "@anthropic-ai/claude-agent-sdk";
import { API_KEY, BASE_URL, MODEL, schema } from "./scenario.mjs";
import { isFirst, isJson, signal, text, turn } from "./session.mjs";

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
const abortController = new AbortController();
signal.addEventListener("abort", () => abortController.abort());
const allowedTools = ["Bash", "Read", "Agent", "Task"];
const options = {
  env,
  model: MODEL,
  settingSources: [],
  allowedTools,
  abortController,
  continue: !isFirst,
  ...(isJson && { outputFormat: { type: "json_schema", schema } }),
};
await turn(async () => {
  let last;
  for await (const message of query({ prompt: text, options })) if (message.type === "result") last = message;
  if (last?.is_error !== false) throw new Error(last?.result ?? last?.errors?.join(" ") ?? "no result");
  return isJson ? JSON.stringify(last.structured_output) : last.result;
});
