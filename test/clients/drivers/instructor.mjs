// One scenario through instructor, which asks an OpenAI client for values of a schema and passes other requests through.
import Instructor from "@instructor-ai/instructor";
import OpenAI from "openai";
import { z } from "zod/v3"; // it reads schemas of this version alone
import { API_KEY, BASE_URL, drive, joined, MODEL, PROMPT, pictureUrl, stopped } from "./scenario.mjs";

const openAi = new OpenAI({ baseURL: `${BASE_URL}/v1`, apiKey: API_KEY });
const { completions } = Instructor({ client: openAi, mode: "TOOLS" }).chat;
const asked = (content, fields = {}) => ({ model: MODEL, messages: [{ role: "user", content }], ...fields });
const textOf = ({ choices }) => choices[0]?.delta.content;
const trip = { name: "trip", schema: z.object({ city: z.string(), days: z.number().int() }) };
const value = async () => JSON.stringify(await completions.create(asked(PROMPT, { response_model: trip })));
await drive({
  plain: async () => joined(await completions.create(asked(PROMPT, { stream: true })), textOf),
  json: value,
  async image() {
    const content = [
      { type: "text", text: PROMPT },
      { type: "image_url", image_url: { url: pictureUrl() } },
    ];
    return (await completions.create(asked(content))).choices[0].message.content;
  },
  cancel: () => stopped(({ signal }) => completions.create(asked(PROMPT, { stream: true }), { signal }), textOf),
  failure: value,
});
