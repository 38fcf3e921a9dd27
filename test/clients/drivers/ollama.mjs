// One scenario through Ollama's own client: `plain` and `tools` are streamed, `json` and `image` are not.
import { readFileSync } from "node:fs";
import { Ollama } from "ollama";

const { BASE_URL, API_KEY, MODEL, PROMPT, SCHEMA, IMAGE } = process.env;
const client = new Ollama({ host: BASE_URL, headers: { Authorization: `Bearer ${API_KEY}` } });
const question = { role: "user", content: PROMPT };
const bash = {
  type: "function",
  function: {
    name: "bash",
    description: "Runs a command.",
    parameters: { type: "object", properties: { command: { type: "string" } }, required: ["command"] },
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
const scenarios = {
  plain: async () => (await streamed([question])).content,
  async tools() {
    const messages = [question];
    for (;;) {
      const answer = await streamed(messages, { tools: [bash] });
      if (answer.tool_calls.length === 0) return answer.content;
      const results = answer.tool_calls.map(({ function: { name, arguments: given } }) => ({
        role: "tool",
        tool_name: name,
        content: `ran ${given.command}`,
      }));
      messages.push(answer, ...results);
    }
  },
  json: async () => JSON.stringify(JSON.parse(await whole({ format: JSON.parse(SCHEMA) }))),
  image: () => whole({ messages: [{ ...question, images: [readFileSync(IMAGE)] }] }),
  async cancel() {
    const stream = await client.chat({ model: MODEL, messages: [question], stream: true });
    for await (const { message } of stream) if (message.content !== "") break;
    client.abort();
    return "cancelled";
  },
  error: () => scenarios.plain(),
  failure: () => scenarios.plain(),
};
try {
  process.stdout.write(`${await scenarios[process.argv[2]]()}\n`);
} catch (error) {
  process.stdout.write(`${error?.name} ${error?.status_code ?? ""}: ${error?.message}\n`);
  process.exitCode = ["error", "failure"].includes(process.argv[2]) ? 0 : 1;
}
