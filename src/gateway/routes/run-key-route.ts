import { z } from "zod";
import { Secret } from "../../base/secret.ts";
import { parseBody } from "../dialects/parse-body.ts";
import { jsonResponse, linesHeaders } from "../http/reply.ts";
import { defineRoute } from "./route.ts";

const asked = z.object({
  client: z.string().regex(/^[a-z0-9-]{1,64}$/),
  key: z.string().regex(/^mrr_[\w-]{43}$/),
  door: z.int().min(0).max(65_535).optional(),
});

/** The port at which the key's client needs no key. */
export const doorHeader = "x-millrace-door";

/** The key of a client that `millrace run` starts. The answer has no end: the key works while it is open, so it ends with whichever side dies. */
export const runKeyRoute = defineRoute("keys", "POST /dashboard/api/run-key", {
  summary: "Lends a key to one client while this answer is open (`millrace run`). Only for the owner.",
  guard: "owner",
  body: asked,
  answers: "ndjson",
  async handle({ lendKey, stopping }, c, { json }) {
    const { client, key, door } = parseBody(asked, json);
    const over = AbortSignal.any([c.signal, stopping]);
    const port = await lendKey({ client, key: new Secret(key), door }, over);
    return {
      status: 200,
      headers: { ...linesHeaders("lines"), ...(port !== undefined && { [doorHeader]: `${port}` }) },
      body: async (response) => {
        response.write('{"object":"run_key"}\n');
        const end = () => response.end();
        if (over.aborted) end();
        else over.addEventListener("abort", end, { once: true });
      },
    };
  },
});

/** `millrace keys` asks it after a change of the list. */
export const doorsRoute = defineRoute("keys", "POST /dashboard/api/doors", {
  summary: "Opens and closes the doors of keys as their list says now (`millrace keys`). Only for the owner.",
  guard: "owner",
  answer: z.object({ object: z.literal("doors"), problems: z.array(z.string()) }),
  handle: async ({ adjustDoors }) => jsonResponse({ object: "doors", problems: await adjustDoors() }),
});
