// One scenario through the OpenAI SDK on responses.
import OpenAI from "openai";
import { API_KEY, BASE_URL, commandSchema, drive, MODEL, PROMPT, pictureUrl, ran, schema } from "./scenario.mjs";

const client = new OpenAI({ baseURL: `${BASE_URL}/v1`, apiKey: API_KEY });
const tools = [
  {
    type: "function",
    name: "bash",
    description: "Runs a command.",
    strict: false,
    parameters: commandSchema,
  },
];
await drive(
  {
    async plain() {
      const { output_text, error } = await client.responses.stream({ model: MODEL, input: PROMPT }).finalResponse();
      return error ? `failed: ${error.message}` : output_text; // a failed response is a value here
    },
    async tools() {
      let answer = await client.responses.stream({ model: MODEL, input: PROMPT, tools }).finalResponse();
      for (;;) {
        const calls = answer.output.filter(({ type }) => type === "function_call");
        if (calls.length === 0) return answer.output_text;
        const input = calls.map(({ call_id, arguments: given }) => ({
          type: "function_call_output",
          call_id,
          output: ran(JSON.parse(given)),
        }));
        answer = await client.responses
          .stream({ model: MODEL, previous_response_id: answer.id, input, tools })
          .finalResponse();
      }
    },
    async json() {
      const text = { format: { type: "json_schema", name: "trip", strict: true, schema: schema } };
      return JSON.stringify(
        JSON.parse((await client.responses.create({ model: MODEL, input: PROMPT, text })).output_text),
      );
    },
    async image() {
      const image_url = pictureUrl();
      const content = [
        { type: "input_text", text: PROMPT },
        { type: "input_image", image_url, detail: "auto" },
      ];
      return (await client.responses.create({ model: MODEL, input: [{ role: "user", content }] })).output_text;
    },
    async cancel() {
      const stream = await client.responses.create({ model: MODEL, input: PROMPT, stream: true });
      for await (const event of stream) if (event.type === "response.output_text.delta") break; // breaking aborts the request
      return "cancelled";
    },
  },
  (error) => `APIError ${error.status} ${error.code}: ${error.message}`,
);
