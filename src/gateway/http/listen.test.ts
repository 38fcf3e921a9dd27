import { once } from "node:events";
import { type ClientHttp2Session, connect as connectHttp2 } from "node:http2";
import { connect } from "node:net";
import OpenAI from "openai";
import { afterEach, describe, expect, it } from "vitest";
import { proves } from "../../../test/support/proves.ts";
import { systemClock } from "../../base/clock.ts";
import type { TurnEventBody } from "../../log/event.ts";
import { type FakeGateway, fakeGateway, fakeKey } from "../gateway.fake.ts";
import type { GatewayOptions } from "../open-gateway.ts";
import { isPortTaken, type Listener } from "./listen.ts";
import type { RpcHandler } from "./rpc-handler.ts";

/** Only ever waited out by a failure; long, because the machine may be busy. */
const patienceMs = 100_000;

const opened: Listener[] = [];
afterEach(async () => {
  for (const listening of opened.splice(0)) await listening.close();
});

async function listenOn(
  options: Partial<GatewayOptions> = {},
): Promise<FakeGateway & { listening: Listener; client: OpenAI }> {
  const fake = fakeGateway({ clock: systemClock, ...options });
  const listening = await fake.gateway.listen({ host: "127.0.0.1", port: 0 });
  opened.push(listening);
  const client = new OpenAI({ baseURL: `${listening.url}/v1`, apiKey: fakeKey, maxRetries: 0 });
  return { ...fake, listening, client };
}

const text = (delta: string): TurnEventBody => ({ type: "text", delta });
const finished = (whole: string): TurnEventBody => ({
  type: "finished",
  reason: { unified: "stop", raw: undefined },
  text: whole,
});
const call = (callId: string, argumentsDelta: string, done: boolean): TurnEventBody => ({
  type: "tool_call",
  callId,
  name: "weather",
  argumentsDelta,
  done,
});
const messages = [{ role: "user" as const, content: "Hello" }];
const tools = [{ type: "function" as const, function: { name: "weather", parameters: {} } }];

describe("the real OpenAI SDK", () => {
  it("streams text, and accumulates what it gets without streaming", async () => {
    proves("chat.usage-asked", "chat.reasoning");
    const { client, turns } = await listenOn();
    turns.script = () => [
      { type: "thinking", delta: "hm" },
      text("Hello"),
      text(" wörld 🌊"),
      finished("Hello wörld 🌊"),
    ];
    const stream = client.chat.completions.stream({
      model: "test-model",
      messages,
      stream_options: { include_usage: true },
    });
    const streamed = await stream.finalChatCompletion();
    const whole = await client.chat.completions.create({ model: "test-model", messages, user: "another" });
    expect(streamed.choices[0]?.message.content).toBe("Hello wörld 🌊");
    expect(whole.choices[0]?.message.content).toBe("Hello wörld 🌊");
    expect(streamed.usage).toEqual(whole.usage);
    expect(streamed.choices[0]?.finish_reason).toBe("stop");
  });

  it("gets parallel tool calls apart, streamed and not", async () => {
    proves("chat.empty-arguments", "chat.null-content", "chat.parallel-calls");
    const { client, turns } = await listenOn();
    turns.script = () => [call("a", '{"city":"Graz"}', true), call("b", "", true), finished("")];
    const stream = client.chat.completions.stream({ model: "test-model", messages, tools });
    const streamed = await stream.finalChatCompletion();
    const whole = await client.chat.completions.create({ model: "test-model", messages, tools, user: "another" });
    const calls = (completion: OpenAI.ChatCompletion) =>
      completion.choices[0]?.message.tool_calls?.map((c) => c.type === "function" && [c.id, c.function.arguments]);
    expect(calls(streamed)).toEqual([
      ["a", '{"city":"Graz"}'],
      ["b", "{}"],
    ]);
    expect(calls(whole)).toEqual(calls(streamed));
    expect(streamed.choices[0]?.finish_reason).toBe("tool_calls");
    expect(whole.choices[0]?.message.content).toBeNull();
  });

  it("throws on a failure in the middle of a stream, and keeps the request id", async () => {
    const { client, turns } = await listenOn();
    turns.script = () => [
      text("Hal"),
      { type: "failed", error: { code: "upstream_failed", message: "It broke.", hint: "" } },
    ];
    const stream = await client.chat.completions.create({ model: "test-model", messages, stream: true });
    let got = "";
    const reading = (async () => {
      for await (const chunk of stream) got += chunk.choices[0]?.delta.content ?? "";
    })();
    await expect(reading).rejects.toThrow(/It broke/);
    expect(got).toBe("Hal");
  });

  it("throws typed errors with code, parameter and request id", async () => {
    proves("chat.errors");
    const { client } = await listenOn();
    const unknown = client.chat.completions.create({ model: "gpt-99", messages });
    await expect(unknown).rejects.toMatchObject({
      status: 404,
      code: "model_not_found",
      param: "model",
      requestID: expect.stringMatching(/^req_/),
    });
    await expect(client.embeddings.create({ model: "m", input: "x" })).rejects.toMatchObject({ status: 404 });
  });

  it("lists and finds models", async () => {
    const { client } = await listenOn();
    const ids: string[] = [];
    for await (const model of client.models.list()) ids.push(model.id);
    expect(ids).toEqual(["test-model", "claude-test:high"]);
    expect((await client.models.retrieve("claude-test:high")).id).toBe("claude-test:high");
  });

  it("stops the reader, and not the turn, when it is aborted before the first byte", async () => {
    proves("http.early-abort");
    const { client, turns } = await listenOn();
    const controller = new AbortController();
    const pending = client.chat.completions.create({ model: "test-model", messages }, { signal: controller.signal });
    while (turns.started.length === 0 || turns.readers(turns.turnId(0)) === 0)
      await turns.changed(AbortSignal.timeout(patienceMs)).catch(() => {});
    const turnId = turns.turnId(0);
    controller.abort();
    await expect(pending).rejects.toThrow(/abort/i);
    while (turns.readers(turnId) > 0) await turns.changed(AbortSignal.timeout(patienceMs));
    expect((await turns.get(turnId))?.ended).toBe(false);
  });

  it("stops the reader when it breaks out of a stream", async () => {
    const { client, turns } = await listenOn();
    turns.script = () => [text("one")];
    const stream = await client.chat.completions.create({ model: "test-model", messages, stream: true });
    for await (const chunk of stream) if (chunk.choices[0]?.delta.content === "one") break;
    const turnId = turns.turnId(0);
    while (turns.readers(turnId) > 0) await turns.changed(AbortSignal.timeout(patienceMs));
    expect(turns.delivered(turnId)).toBe(false);
  });
});

describe("listening", () => {
  it("sends each event at once, uncompressed, and closes the body after the last", async () => {
    proves("http.sse");
    const { listening, turns } = await listenOn();
    turns.script = () => [text("one")];
    const response = await fetch(`${listening.url}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${fakeKey}`, "accept-encoding": "gzip, br" },
      body: JSON.stringify({ model: "test-model", messages, stream: true }),
    });
    expect(response.headers.get("content-encoding")).toBeNull();
    const reader = response.body?.getReader();
    let seen = "";
    while (!seen.includes('"one"')) seen += new TextDecoder().decode((await reader?.read())?.value);
    turns.emit(turns.turnId(0), finished("one"));
    let done = false;
    while (!done) done = (await reader?.read())?.done ?? true;
  });

  it("holds back a client that does not read, for any length of the log", async () => {
    const { listening, turns } = await listenOn();
    const bulk = "x".repeat(100_000);
    turns.script = () => [...Array.from({ length: 200 }, () => text(bulk)), finished(bulk.repeat(200))];
    const socket = connect(listening.port, "127.0.0.1");
    socket.pause();
    const body = JSON.stringify({ model: "test-model", messages, stream: true });
    socket.write(
      `POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\nx-api-key: ${fakeKey}\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    );
    while (turns.started.length === 0) await turns.changed(AbortSignal.timeout(patienceMs));
    const turnId = turns.turnId(0);
    await fetch(`${listening.url}/health`); // others are served meanwhile
    expect(turns.delivered(turnId)).toBe(false);
    let end = "";
    for await (const bytes of socket.iterator({ destroyOnReturn: true })) {
      end = (end + String(bytes)).slice(-100);
      if (end.includes("[DONE]")) break;
    }
    expect(end).toContain("[DONE]");
  });

  it("says that a port is taken", async () => {
    const { listening, gateway } = await listenOn();
    const again = gateway.listen({ host: "127.0.0.1", port: listening.port });
    await expect(again).rejects.toSatisfy(isPortTaken);
  });

  it("stays on loopback, and a refusal says how it is reached from elsewhere", async () => {
    const { gateway } = fakeGateway();
    const refused = { param: "host", hint: expect.stringContaining("docs/reference.md") };
    for (const host of ["0.0.0.0", "::", "192.0.2.1"])
      await expect(gateway.listen({ host, port: 0 })).rejects.toMatchObject(refused);
  });

  it("lets pages of its own port call, and no others", async () => {
    const { listening } = await listenOn();
    const from = async (origin: string) => (await fetch(`${listening.url}/health`, { headers: { origin } })).status;
    expect(await from(`http://127.0.0.1:${listening.port}`)).toBe(200);
    expect(await from(`http://localhost:${listening.port}`)).toBe(200);
    expect(await from(`http://127.0.0.1:${listening.port + 1}`)).toBe(403);
  });

  it.each(["GET http://127.0.0.1/health HTTP/1.1", "GET //evil/health HTTP/1.1", "NONSENSE"])(
    "survives the request line %s",
    async (line) => {
      const { listening } = await listenOn();
      const socket = connect(listening.port, "127.0.0.1");
      socket.write(`${line}\r\nhost: localhost\r\nconnection: close\r\n\r\n`);
      const [first] = (await once(socket, "data")) as [Buffer];
      expect(first.toString()).toMatch(/^HTTP\/1\.1 [24]/);
      socket.destroy();
      expect((await fetch(`${listening.url}/health`)).status).toBe(200);
    },
  );

  it("hands its paths and HTTP/2 to another protocol on the same port, behind the same guard", async () => {
    const rpc: RpcHandler = {
      takes: (path) => path.startsWith("/aiserver.v1."),
      handle: (request, response) => {
        (response as { end(text: string): void }).end(`rpc ${request.url}`); // both response classes have it
      },
      refuse: (_request, response, { status }) => {
        response.statusCode = status;
        (response as { end(text: string): void }).end("refused"); // as above
      },
    };
    const { listening } = await listenOn({ rpc: () => rpc });
    const path = "/aiserver.v1.ChatService/Stream";
    const ask = async (headers: Record<string, string>) => fetch(`${listening.url}${path}`, { headers });
    expect((await ask({})).status).toBe(401);
    expect(await (await ask({ "x-api-key": fakeKey })).text()).toBe(`rpc ${path}`);
    expect((await fetch(`${listening.url}/health`)).status).toBe(200);
    const session = connectHttp2(listening.url);
    expect(await askHttp2(session, path, { "x-api-key": fakeKey })).toEqual({ status: 200, text: `rpc ${path}` });
    expect((await askHttp2(session, path, {})).status).toBe(401);
    session.destroy();
  });

  it("distinguishes HTTP/2's preface from a POST, however it is cut", async () => {
    const { listening } = await listenOn({ rpc: () => ({ takes: () => false, handle: () => {}, refuse: () => {} }) });
    const socket = connect({ port: listening.port, host: "127.0.0.1", noDelay: true });
    for (const byte of "POST /health HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\n\r\n") {
      socket.write(byte);
      await new Promise((resolve) => setImmediate(resolve));
    }
    const [first] = (await once(socket, "data")) as [Buffer];
    expect(first.toString()).toMatch(/^HTTP\/1\.1 401/);
    socket.destroy();
  });
});

async function askHttp2(session: ClientHttp2Session, path: string, headers: Record<string, string>) {
  const stream = session.request({ ":path": path, ...headers });
  const [response] = (await once(stream, "response")) as [{ ":status"?: number }];
  let text = "";
  for await (const chunk of stream) text += String(chunk);
  return { status: response[":status"], text };
}

describe("a gateway that begins to listen", () => {
  it("has the health's details looked up as it begins to listen, since no answer waits for them", async () => {
    let looks = 0;
    const healthDetails = () => Promise.reject(new Error(`look ${++looks}`)); // a look that fails stops nothing
    const { listening } = await listenOn({ healthDetails });
    expect(looks).toBe(1);
    expect((await fetch(`${listening.url}/health`)).status).toBe(200);
  });
});
