import http from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ModelDelta, ModelPrompt } from "./model.ts";
import { upstreamModel } from "./upstream.ts";

const prompt: ModelPrompt = {
  text: "hi [[sim: flicker=1]]",
  asked: "hi",
  instructions: "Be brief.",
  history: [{ role: "user", text: "earlier" }],
  images: [{ mimeType: "image/png", base64: "AAAA" }],
  modelUid: "swe-1-6",
  modelLabel: "SWE-1.6",
  thinks: false,
  maxOutputTokens: 77,
  outputLimit: undefined,
  plan: {},
};

describe("a model behind an OpenAI-compatible server", () => {
  let server: http.Server;
  let baseUrl = "";
  let received: unknown;
  let refuses = false;

  beforeAll(async () => {
    server = http.createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("end", () => {
        received = JSON.parse(Buffer.concat(chunks).toString());
        if (refuses) {
          response.writeHead(401).end();
          return;
        }
        response.writeHead(200, { "content-type": "text/event-stream" });
        const deltas = [{ reasoning_content: "hm" }, { content: "He" }, { content: "llo" }];
        for (const delta of deltas) response.write(`data: ${JSON.stringify({ choices: [{ delta }] })}\n\n`);
        response.write(
          `data: ${JSON.stringify({ choices: [], usage: { prompt_tokens: 9, completion_tokens: 3 } })}\n\n`,
        );
        response.end("data: [DONE]\n\n");
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });

  async function ask(): Promise<ModelDelta[]> {
    const deltas: ModelDelta[] = [];
    const signal = new AbortController().signal;
    for await (const delta of upstreamModel(baseUrl, "tiny").answer(prompt, signal)) deltas.push(delta);
    return deltas;
  }

  it("gets the whole conversation and streams thinking, text and usage", async () => {
    expect(await ask()).toEqual([
      { kind: "thinking", text: "hm" },
      { kind: "text", text: "He" },
      { kind: "text", text: "llo" },
      { kind: "usage", inputTokens: 9, outputTokens: 3 },
    ]);
    expect(received).toMatchObject({
      model: "tiny",
      max_tokens: 77,
      stream: true,
      messages: [
        { role: "system", content: "Be brief." },
        { role: "user", content: "earlier" },
        { role: "user", content: [{ type: "text", text: "hi" }, { image_url: { url: "data:image/png;base64,AAAA" } }] },
      ],
    });
  });

  it("fails the turn with a text of the real server's kind when it refuses", async () => {
    refuses = true;
    await expect(ask()).rejects.toThrow("an internal error occurred: the model behind the simulator answered 401");
  });
});
