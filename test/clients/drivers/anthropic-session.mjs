// One message of a session through the Anthropic SDK.
import Anthropic from "@anthropic-ai/sdk";
import { API_KEY, BASE_URL, commandSchema, MODEL, ran, schema } from "./scenario.mjs";
import { history, isJson, signal, text, turn, withPicture } from "./session.mjs";

const client = new Anthropic({ baseURL: BASE_URL, apiKey: API_KEY });
const tools = [{ name: "bash", description: "Runs a command.", input_schema: commandSchema }];
const image = withPicture && [
  { type: "image", source: { type: "base64", media_type: "image/png", data: withPicture } },
];
history.push({ role: "user", content: image ? [{ type: "text", text }, ...image] : text });
await turn(async () => {
  for (;;) {
    const asked = {
      model: MODEL,
      max_tokens: 4096,
      messages: history,
      tools,
      ...(isJson && { output_config: { format: { type: "json_schema", schema } } }),
    };
    const answer = await client.messages.stream(asked, { signal }).finalMessage();
    history.push({ role: "assistant", content: answer.content });
    if (answer.stop_reason !== "tool_use")
      return answer.content.map((block) => (block.type === "text" ? block.text : "")).join("");
    const calls = answer.content.filter(({ type }) => type === "tool_use");
    const results = calls.map(({ id, input }) => ({ type: "tool_result", tool_use_id: id, content: ran(input) }));
    history.push({ role: "user", content: results });
  }
});
