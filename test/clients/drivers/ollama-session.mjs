// One message of a session through Ollama's own client.
import { Ollama } from "ollama";
import { API_KEY, BASE_URL, commandSchema, MODEL, ran, schema } from "./scenario.mjs";
import { history, isJson, signal, text, turn, withPicture } from "./session.mjs";

const client = new Ollama({ host: BASE_URL, headers: { Authorization: `Bearer ${API_KEY}` } });
signal.addEventListener("abort", () => client.abort());
const tools = [
  { type: "function", function: { name: "bash", description: "Runs a command.", parameters: commandSchema } },
];
history.push({ role: "user", content: text, ...(withPicture && { images: [withPicture] }) });
await turn(async () => {
  for (;;) {
    const answer = { role: "assistant", content: "", tool_calls: [] };
    const asked = { model: MODEL, messages: history, tools, stream: true, ...(isJson && { format: schema }) };
    for await (const { message } of await client.chat(asked)) {
      answer.content += message.content;
      answer.tool_calls.push(...(message.tool_calls ?? []));
    }
    history.push(answer);
    if (answer.tool_calls.length === 0) return answer.content;
    for (const { function: called } of answer.tool_calls)
      history.push({ role: "tool", tool_name: called.name, content: ran(called.arguments) });
  }
});
