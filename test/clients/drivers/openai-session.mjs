// One message of a session through the OpenAI SDK: chat completions, or responses (whole inputs, or by `previous_response_id`), as SURFACE says.
import OpenAI from "openai";
import { API_KEY, BASE_URL, commandSchema, MODEL, ran, SURFACE, schema } from "./scenario.mjs";
import { history, isJson, signal, text, turn, withPicture } from "./session.mjs";

const client = new OpenAI({ baseURL: `${BASE_URL}/v1`, apiKey: API_KEY });
const url = withPicture && `data:image/png;base64,${withPicture}`;
const about = { name: "bash", description: "Runs a command.", parameters: commandSchema };

async function chat() {
  const content = url
    ? [
        { type: "text", text },
        { type: "image_url", image_url: { url } },
      ]
    : text;
  history.push({ role: "user", content });
  const format = { type: "json_schema", json_schema: { name: "trip", strict: true, schema } };
  for (;;) {
    const asked = {
      model: MODEL,
      messages: history,
      tools: [{ type: "function", function: about }],
      ...(isJson && { response_format: format }),
    };
    const { choices } = await client.chat.completions.stream(asked, { signal }).finalChatCompletion();
    const [{ message }] = choices;
    history.push({
      role: "assistant",
      content: message.content,
      ...(message.tool_calls && { tool_calls: message.tool_calls }),
    });
    if (!message.tool_calls?.length) return message.content;
    for (const { id, function: called } of message.tool_calls)
      history.push({ role: "tool", tool_call_id: id, content: ran(JSON.parse(called.arguments)) });
  }
}

async function responses(byId) {
  const image = url && [{ type: "input_image", image_url: url, detail: "auto" }];
  let input = [{ role: "user", content: image ? [{ type: "input_text", text }, ...image] : text }];
  for (;;) {
    if (!byId) history.push(...input);
    const asked = {
      model: MODEL,
      input: byId ? input : history,
      tools: [{ type: "function", strict: false, ...about }],
      ...(byId ? { previous_response_id: history[0] } : { store: false }),
      ...(isJson && { text: { format: { type: "json_schema", name: "trip", strict: true, schema } } }),
    };
    const answer = await client.responses.stream(asked, { signal }).finalResponse();
    if (answer.status !== "completed") throw new Error(answer.error?.message ?? answer.status);
    if (byId) history[0] = answer.id;
    else history.push(...answer.output.map((item) => ({ ...item, parsed_arguments: undefined, parsed: undefined })));
    const calls = answer.output.filter(({ type }) => type === "function_call");
    if (calls.length === 0) return answer.output_text;
    input = calls.map(({ call_id, arguments: given }) => ({
      type: "function_call_output",
      call_id,
      output: ran(JSON.parse(given)),
    }));
  }
}

await turn(() => (SURFACE === "chat" ? chat() : responses(SURFACE === "by id")));
