// One scenario through the OpenAI SDK on chat completions. Said on stdout: the answer.
import OpenAI from "openai";
import { API_KEY, BASE_URL, commandSchema, drive, MODEL, PROMPT, pictureUrl, ran, schema } from "./scenario.mjs";

const client = new OpenAI({ baseURL: `${BASE_URL}/v1`, apiKey: API_KEY });
const messages = [{ role: "user", content: PROMPT }];
const tools = [
  {
    type: "function",
    function: {
      name: "bash",
      description: "Runs a command.",
      parse: JSON.parse,
      parameters: commandSchema,
      function: ran,
    },
  },
];
await drive(
  {
    async plain() {
      let text = "";
      const stream = await client.chat.completions.create({
        model: MODEL,
        messages,
        stream: true,
        stream_options: { include_usage: true },
      });
      for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? "";
      return text;
    },
    async tools() {
      return client.chat.completions.runTools({ model: MODEL, messages, tools, stream: true }).finalContent();
    },
    async json() {
      const response_format = {
        type: "json_schema",
        json_schema: { name: "trip", strict: true, schema: schema },
      };
      const answer = await client.chat.completions.create({ model: MODEL, messages, response_format });
      return JSON.stringify(JSON.parse(answer.choices[0].message.content));
    },
    async image() {
      const url = pictureUrl();
      const content = [
        { type: "text", text: PROMPT },
        { type: "image_url", image_url: { url } },
      ];
      return (await client.chat.completions.create({ model: MODEL, messages: [{ role: "user", content }] })).choices[0]
        .message.content;
    },
    async cancel() {
      const stream = await client.chat.completions.create({ model: MODEL, messages, stream: true });
      for await (const chunk of stream) if (chunk.choices[0]?.delta.content) break; // breaking aborts the request
      return "cancelled";
    },
  },
  (error) => `APIError ${error.status} ${error.code}: ${error.message}`,
);
