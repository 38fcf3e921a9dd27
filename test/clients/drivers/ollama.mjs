// One scenario through Ollama's own client: `plain` and `tools` are streamed, `json` and `image` are not.
import { Ollama } from "ollama";
import { API_KEY, BASE_URL, commandSchema, drive, MODEL, PROMPT, picture, ran, schema } from "./scenario.mjs";

const client = new Ollama({ host: BASE_URL, headers: { Authorization: `Bearer ${API_KEY}` } });
const question = { role: "user", content: PROMPT };
const bash = {
  type: "function",
  function: {
    name: "bash",
    description: "Runs a command.",
    parameters: commandSchema,
  },
};
const streamed = async (messages, fields) => {
  const answer = { role: "assistant", content: "", tool_calls: [] };
  for await (const { message } of await client.chat({ model: MODEL, messages, stream: true, ...fields })) {
    answer.content += message.content;
    answer.tool_calls.push(...(message.tool_calls ?? []));
  }
  return answer;
};
const whole = async (fields) =>
  (await client.chat({ model: MODEL, messages: [question], stream: false, ...fields })).message.content;
await drive(
  {
    plain: async () => (await streamed([question])).content,
    async tools() {
      const messages = [question];
      for (;;) {
        const answer = await streamed(messages, { tools: [bash] });
        if (answer.tool_calls.length === 0) return answer.content;
        const results = answer.tool_calls.map(({ function: { name, arguments: given } }) => ({
          role: "tool",
          tool_name: name,
          content: ran(given),
        }));
        messages.push(answer, ...results);
      }
    },
    json: async () => JSON.stringify(JSON.parse(await whole({ format: schema }))),
    image: () => whole({ messages: [{ ...question, images: [picture()] }] }),
    async cancel() {
      const stream = await client.chat({ model: MODEL, messages: [question], stream: true });
      for await (const { message } of stream) if (message.content !== "") break;
      client.abort();
      return "cancelled";
    },
  },
  (error) => `${error?.name} ${error?.status_code ?? ""}: ${error?.message}`,
);
