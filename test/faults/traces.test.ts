import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { ask, world } from "../support/world.ts";

interface Received {
  readonly path: string | undefined;
  readonly text: string;
  readonly key: string | undefined;
}

/** A receiver that refuses the first `refusals` requests. */
async function receiver(refusals: number) {
  const received: Received[] = [];
  let refused = 0;
  const server = createServer((request, response) => {
    let text = "";
    request.on("data", (chunk: Buffer) => (text += chunk.toString()));
    request.on("end", () => {
      const isRefused = refused < refusals;
      if (isRefused) refused++;
      else received.push({ path: request.url, text, key: request.headers.authorization });
      response.writeHead(isRefused ? 503 : 200, { "content-type": "application/json" }).end("{}");
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo; // listening on TCP
  return { url: `http://127.0.0.1:${port}`, received, refused: () => refused };
}

test("each turn is one span that holds counts and names, and neither prompt nor answer", async () => {
  const { url, received, refused } = await receiver(1);
  const env = { MILLRACE_OTLP_HEADERS: "authorization=Bearer%20key-of-the-receiver" };
  const { client, served } = await world({ args: ["--otlp-endpoint", url], env });
  const answer = await client.chat.completions.create(ask("The zebra crosses at midnight."));
  await expect.poll(refused).toBe(1);
  await served.stop(); // sends what waits
  await expect.poll(() => received.length).toBe(1);
  const [{ path, text, key } = { path: "", text: "", key: "" }] = received;
  expect([path, key]).toEqual(["/v1/traces", "Bearer key-of-the-receiver"]);
  expect(served.log()).not.toContain("key-of-the-receiver");
  expect(text).not.toContain("zebra");
  expect(text).not.toContain(answer.choices[0]?.message.content?.slice(0, 20));
  const { resourceSpans } = JSON.parse(text) as {
    readonly resourceSpans: readonly [{ readonly scopeSpans: readonly [{ readonly spans: readonly unknown[] }] }];
  }; // as OTLP has it
  const { spans } = resourceSpans[0].scopeSpans[0];
  expect(spans).toEqual([
    expect.objectContaining({
      name: "chat claude-sonnet-4.6",
      kind: 3,
      traceId: expect.stringMatching(/^[0-9a-f]{32}$/),
      spanId: expect.stringMatching(/^[0-9a-f]{16}$/),
      attributes: expect.arrayContaining([
        { key: "gen_ai.operation.name", value: { stringValue: "chat" } },
        { key: "gen_ai.provider.name", value: { stringValue: "windsurf" } },
        { key: "gen_ai.response.finish_reasons", value: { arrayValue: { values: [{ stringValue: "stop" }] } } },
        { key: "gen_ai.usage.input_tokens", value: { intValue: expect.stringMatching(/^\d+$/) } },
      ]),
    }),
  ]);
});
