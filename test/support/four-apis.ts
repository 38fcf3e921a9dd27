import { rawClient, say } from "../../src/gateway/streams/raw-client.fake.ts";
import type { GatewayProcess } from "./gateway-process.ts";
import { model, patience } from "./world.ts";

/** What a client was told: the answer, or with what words it was refused. */
export interface ApiAnswer {
  readonly error: string;
  readonly answer: string;
}

/** Each asks one question, over one API. */
export const fourApis: Readonly<
  Record<string, (target: GatewayProcess, text: string, key?: string, wanted?: string) => Promise<ApiAnswer>>
> = {
  "Chat Completions": (target, text, key, wanted = model) =>
    post(target, "/v1/chat/completions", { model: wanted, messages: [{ role: "user", content: text }] }, key),
  Responses: (target, text, key, wanted = model) => post(target, "/v1/responses", { model: wanted, input: text }, key),
  Messages: (target, text, key, wanted = model) =>
    post(target, "/v1/messages", { model: wanted, max_tokens: 999, messages: [{ role: "user", content: text }] }, key),
  "stream protocol": async (target, text, key = text, wanted = model) => {
    const encryptionKey = Buffer.alloc(32, key).toString("base64url");
    const names = { "x-idempotency-key": key.replaceAll(/\W+/g, "-"), "x-idempotent-encryption-key": encryptionKey };
    const attach = rawClient(target).attach("sse", names);
    attach.send(say.request(text, 0, { model: wanted })).endInput();
    const error = await attach.ended;
    return { error: error?.message ?? "", answer: attach.text };
  },
};

async function post(target: GatewayProcess, path: string, body: object, key: string | undefined): Promise<ApiAnswer> {
  const response = await fetch(target.url + path, {
    method: "POST",
    headers: {
      authorization: `Bearer ${target.key}`,
      "content-type": "application/json",
      ...(key === undefined ? {} : { "idempotency-key": key }),
    },
    body: JSON.stringify(body),
    signal: patience(),
  });
  const answer = await response.text();
  return response.ok ? { error: "", answer } : { error: answer, answer: "" };
}
