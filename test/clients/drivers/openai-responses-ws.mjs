// One scenario through the OpenAI SDK on responses, over one WebSocket.
import OpenAI from "openai";
import { ResponsesWS } from "openai/resources/responses/ws";
import { API_KEY, BASE_URL, commandSchema, drive, MODEL, PROMPT, pictureUrl, ran, schema } from "./scenario.mjs";

const socket = new ResponsesWS(new OpenAI({ baseURL: `${BASE_URL}/v1`, apiKey: API_KEY }));
const events = socket.stream();
const tools = [
  { type: "function", name: "bash", description: "Runs a command.", strict: false, parameters: commandSchema },
];

/** The events of one response, up to its end. Throws what the server reports as an error. */
async function* answerTo(fields) {
  socket.send({ type: "response.create", model: MODEL, ...fields });
  for (;;) {
    const { value: event, done } = await events.next();
    if (done || event.type === "close") throw new Error("the connection was closed");
    if (event.type === "error") throw event.error;
    if (event.type !== "message") continue;
    yield event.message;
    if (/^response\.(?:completed|failed|incomplete)$/.test(event.message.type)) return;
  }
}

async function answer(fields) {
  let response;
  for await (const event of answerTo(fields)) ({ response = response } = event);
  if (response.status === "failed") throw new Error(response.error.message);
  return response;
}

const textOf = ({ output }) => output.flatMap(({ content = [] }) => content.map(({ text = "" }) => text)).join("");
await drive({
  plain: async () => textOf(await answer({ input: PROMPT })),
  async tools() {
    let response = await answer({ input: PROMPT, tools });
    for (;;) {
      const calls = response.output.filter(({ type }) => type === "function_call");
      if (calls.length === 0) return textOf(response);
      const input = calls.map(({ call_id, arguments: given }) => ({
        type: "function_call_output",
        call_id,
        output: ran(JSON.parse(given)),
      }));
      response = await answer({ previous_response_id: response.id, input, tools });
    }
  },
  async json() {
    const text = { format: { type: "json_schema", name: "trip", strict: true, schema } };
    return JSON.stringify(JSON.parse(textOf(await answer({ input: PROMPT, text }))));
  },
  async image() {
    const content = [
      { type: "input_text", text: PROMPT },
      { type: "input_image", image_url: pictureUrl(), detail: "auto" },
    ];
    return textOf(await answer({ input: [{ role: "user", content }] }));
  },
  async cancel() {
    for await (const { type } of answerTo({ input: PROMPT })) if (type === "response.output_text.delta") break;
    return "cancelled";
  },
});
socket.close();
