import { once } from "node:events";
import { connect as connectHttp2 } from "node:http2";
import { connect } from "node:net";
import { afterEach, expect, it } from "vitest";
import { fakeGateway, fakeKey } from "../gateway.fake.ts";
import { finished, started, text } from "../turn-events.fake.ts";
import type { Listener } from "./listen.ts";

let listener: Listener | undefined;
afterEach(() => listener?.close());

async function world() {
  const fake = fakeGateway();
  fake.turns.script = () => [started, text("Hello"), finished("Hello")];
  listener = await fake.gateway.listen({ host: "127.0.0.1", port: 0 });
  return listener;
}

it("a target may be the whole URL of this server, and of no other", async () => {
  const { port } = await world();
  const statusOf = async (target: string) => {
    const socket = connect(port, "127.0.0.1");
    const head = [
      `GET ${target} HTTP/1.1`,
      `host: 127.0.0.1:${port}`,
      `authorization: Bearer ${fakeKey}`,
      "connection: close",
    ];
    socket.end([...head, "", ""].join("\r\n"));
    let answer = "";
    for await (const bytes of socket) answer += String(bytes);
    return Number(answer.split(" ")[1]);
  };
  expect(await statusOf(`http://127.0.0.1:${port}/v1/models`)).toBe(200);
  expect(await statusOf("http://elsewhere.example/v1/models")).toBe(400);
  expect(await statusOf("elsewhere:443")).toBe(400);
});

it("Chat Completions are served over HTTP/2 too, streamed and whole, behind the same guard", async () => {
  const { port } = await world();
  const session = connectHttp2(`http://127.0.0.1:${port}`);
  const ask = async (body: object, key = fakeKey) => {
    const stream = session.request({
      ":method": "POST",
      ":path": "/v1/chat/completions",
      authorization: `Bearer ${key}`,
    });
    stream.end(JSON.stringify({ model: "test-model", messages: [{ role: "user", content: "x" }], ...body }));
    const [headers] = (await once(stream, "response")) as [Record<string, unknown>];
    let answer = "";
    for await (const bytes of stream) answer += String(bytes);
    return { status: headers[":status"], answer };
  };
  const streamed = await ask({ stream: true });
  expect([streamed.status, streamed.answer.includes("Hello"), streamed.answer.endsWith("data: [DONE]\n\n")]).toEqual([
    200,
    true,
    true,
  ]);
  expect(JSON.parse((await ask({ user: "2" })).answer)).toMatchObject({ choices: [{ message: { content: "Hello" } }] });
  expect((await ask({}, "mr-wrong")).status).toBe(401);
  session.close();
});
