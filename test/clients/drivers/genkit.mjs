// One scenario through Genkit, with its plugin for APIs like OpenAI's.
import { openAICompatible } from "@genkit-ai/compat-oai";
import { genkit, z } from "genkit";
import { API_KEY, BASE_URL, drive, joined, MODEL, PROMPT, pictureUrl, ran, stopped } from "./scenario.mjs";

const plugin = openAICompatible({ name: "millrace", apiKey: API_KEY, baseURL: `${BASE_URL}/v1` });
const ai = genkit({ plugins: [plugin], model: `millrace/${MODEL}` });
const fields = { name: "bash", description: "Runs a command.", inputSchema: z.object({ command: z.string() }) };
const bash = ai.defineTool(fields, async (args) => ran(args));
const streamed = async (more) => {
  const { stream, response } = ai.generateStream({ prompt: PROMPT, ...more });
  const text = await joined(stream, (piece) => piece.text);
  await response;
  return text;
};
await drive({
  plain: () => streamed({}),
  tools: () => streamed({ tools: [bash] }),
  image: async () => (await ai.generate({ prompt: [{ text: PROMPT }, { media: { url: pictureUrl() } }] })).text,
  cancel: () =>
    stopped(
      ({ signal }) => {
        const { stream, response } = ai.generateStream({ prompt: PROMPT, abortSignal: signal });
        response.catch(() => {}); // it rejects once it is stopped
        return stream;
      },
      ({ text }) => text,
    ),
});
