// One scenario through the Anthropic SDK.
import Anthropic from "@anthropic-ai/sdk";
import { API_KEY, BASE_URL, commandSchema, drive, MODEL, PROMPT, picture, ran, schema } from "./scenario.mjs";

const client = new Anthropic({ baseURL: BASE_URL, apiKey: API_KEY });
const ask = (fields) =>
  client.messages.stream({ model: MODEL, max_tokens: 4096, messages: [{ role: "user", content: PROMPT }], ...fields });
const textOf = ({ content }) => content.map((block) => (block.type === "text" ? block.text : "")).join("");
const bash = {
  name: "bash",
  description: "Runs a command.",
  input_schema: commandSchema,
};
await drive(
  {
    plain: async () => textOf(await ask({}).finalMessage()),
    async tools() {
      const messages = [{ role: "user", content: PROMPT }];
      for (;;) {
        const answer = await ask({ messages, tools: [bash] }).finalMessage();
        if (answer.stop_reason !== "tool_use") return textOf(answer);
        const calls = answer.content.filter(({ type }) => type === "tool_use");
        const results = calls.map(({ id, input }) => ({
          type: "tool_result",
          tool_use_id: id,
          content: ran(input),
        }));
        messages.push({ role: "assistant", content: answer.content }, { role: "user", content: results });
      }
    },
    async json() {
      // by a forced tool: the way of this API that every version knows
      const trip = { name: "trip", description: "Takes the answer.", input_schema: schema };
      const answer = await ask({ tools: [trip], tool_choice: { type: "tool", name: "trip" } }).finalMessage();
      return JSON.stringify(answer.content.find(({ type }) => type === "tool_use").input);
    },
    async image() {
      const source = { type: "base64", media_type: "image/png", data: picture() };
      return textOf(
        await ask({
          messages: [
            {
              role: "user",
              content: [
                { type: "text", text: PROMPT },
                { type: "image", source },
              ],
            },
          ],
        }).finalMessage(),
      );
    },
    async cancel() {
      const stream = ask({});
      for await (const event of stream) if (event.type === "content_block_delta") break; // breaking aborts the request
      return "cancelled";
    },
  },
  (error) => `APIError ${error.status}: ${error.message}`,
);
