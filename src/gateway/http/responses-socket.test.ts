import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import OpenAI from "openai";
import { ResponsesWS } from "openai/resources/responses/ws";
import { afterEach, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { systemClock } from "../../base/clock.ts";
import { Secret } from "../../base/secret.ts";
import { fakeGateway, fakeKey } from "../gateway.fake.ts";
import { finished, started, text } from "../turn-events.fake.ts";
import type { ConnectionLimits } from "./connection-limits.ts";
import type { Listener } from "./listen.ts";
import { canServeSockets } from "./responses-socket.ts";

const opened: { close(): unknown }[] = [];
afterEach(async () => {
  for (const one of opened.splice(0).reverse()) await one.close();
});

const keyOf = (name: string) => (name === "owner" ? fakeKey : `mr-test-key-of-${name}-0123456789`);

async function listening(limits: Partial<ConnectionLimits> = {}) {
  const keys = ["owner", "one", "two", "three"].map((name) => ({ name, key: new Secret(keyOf(name)) }));
  const fake = fakeGateway({ clock: systemClock, keys });
  fake.turns.script = () => [started, text("Hi"), finished("Hi")];
  const here: Listener = await fake.gateway.listen({ host: "127.0.0.1", port: 0, limits });
  opened.push(here);
  return { ...fake, port: here.port, here };
}

// oxlint-disable-next-line typescript/no-explicit-any -- wire JSON, looked into freely by these tests
type Json = Record<string, any>;

/** A client that sends a message and reads up to the end of its answer. */
async function connect(port: number, headers: Readonly<Record<string, string>> = {}) {
  const url = `ws://127.0.0.1:${port}/v1/responses`;
  const socket = new WebSocket(url, { headers: { authorization: `Bearer ${fakeKey}`, ...headers } });
  opened.push({ close: () => socket.terminate() });
  const got: Json[] = [];
  let wake = () => {};
  socket.on("message", (data: Buffer) => {
    got.push(JSON.parse(data.toString()) as Json);
    wake();
  });
  await once(socket, "open");
  const ask = async (message: unknown) => {
    socket.send(typeof message === "string" ? message : JSON.stringify(message));
    for (;;) {
      const end = got.findIndex(({ type }) =>
        /^(?:error|response\.(?:completed|failed|incomplete))$/.test(type as string),
      );
      if (end >= 0) return got.splice(0, end + 1);
      await new Promise<void>((resolve) => (wake = resolve));
    }
  };
  return { socket, ask };
}

const create = { type: "response.create", model: "test-model" };
const messagesOf = ({ turns }: Awaited<ReturnType<typeof listening>>, at: number) =>
  turns.started[at]?.request.messages.map(({ role, ...message }) => [role, "parts" in message ? message.parts : []]);

describe.runIf(canServeSockets())("the Responses API over a WebSocket", () => {
  it("answers OpenAI's SDK with the events of the stream", async () => {
    const { port } = await listening();
    const client = new OpenAI({ baseURL: `http://127.0.0.1:${port}/v1`, apiKey: fakeKey });
    const socket = new ResponsesWS(client);
    opened.push({ close: () => socket.close() });
    socket.send({ ...create, type: "response.create", input: "Hello" });
    const types: string[] = [];
    for await (const step of socket.stream()) {
      if (step.type !== "message") continue;
      types.push(step.message.type);
      if (step.message.type !== "response.completed") continue;
      expect(step.message.response).toMatchObject({ status: "completed", output: [{ content: [{ text: "Hi" }] }] });
      break;
    }
    expect(types).toContain("response.output_text.delta");
  });

  it("continues the connection's last response, also one that was not stored or that only prepared", async () => {
    const fake = await listening();
    const { ask } = await connect(fake.port);
    const [prepared] = (await ask({ ...create, store: false, generate: false, input: "Rules" })).slice(-1);
    expect(fake.turns.started).toHaveLength(0);
    const first = (
      await ask({ ...create, store: false, input: "One", previous_response_id: prepared?.response.id })
    ).at(-1);
    await ask({ ...create, store: false, input: "Two", previous_response_id: first?.response.id });
    const said = (role: string, content: string) => [role, [{ type: "text", text: content }]];
    expect(messagesOf(fake, 1)).toEqual([
      said("user", "Rules"),
      said("user", "One"),
      said("assistant", "Hi"),
      said("user", "Two"),
    ]);
  });

  it("ends a failed answer once, so that the next request gets its own", async () => {
    const { port, turns } = await listening();
    const error = { code: "upstream_failed" as const, message: "It broke.", hint: "" };
    turns.script = () => [started, text("Hal"), { type: "failed", error }];
    const { ask } = await connect(port);
    expect((await ask({ ...create, input: "one" })).at(-1)?.type).toBe("response.failed");
    turns.script = () => [started, text("Hi"), finished("Hi")];
    expect((await ask({ ...create, input: "two" })).map(({ type }) => type)).toEqual(
      expect.arrayContaining(["response.created", "response.completed"]),
    );
  });

  it("says that a response is not known in the words on which Codex sends its whole input", async () => {
    const { port } = await listening();
    const { ask } = await connect(port);
    const [error] = await ask({ ...create, input: "x", previous_response_id: "resp_00000000000000000000000000" });
    expect(error).toMatchObject({ type: "error", status: 404, error: { code: "previous_response_not_found" } });
    expect((await ask("no JSON")).at(-1)).toMatchObject({ type: "error", status: 400 });
    expect((await ask({ ...create, input: "x", stream_id: "a" })).at(-1)).toMatchObject({ stream_id: "a" }); // it goes on
  });

  it("forgets a response whose continuation failed", async () => {
    const { port } = await listening();
    const { ask } = await connect(port);
    const unstored = { ...create, store: false };
    const first = (await ask({ ...unstored, input: "One" })).at(-1);
    const next = { ...unstored, previous_response_id: first?.response.id };
    const [refused] = await ask({ ...next, input: [{ role: "user", content: 7 }] });
    expect(refused).toMatchObject({ type: "error", status: 400 });
    const [forgotten] = await ask({ ...next, input: "Two" });
    expect(forgotten).toMatchObject({ type: "error", error: { code: "previous_response_not_found" } });
  });

  it("joins the turn of a connection that broke when the same request comes again", async () => {
    const fake = await listening();
    const [a, b] = [await connect(fake.port), await connect(fake.port)];
    const message = { ...create, input: "Hello" };
    fake.turns.script = () => [started, text("Hi")]; // it runs on
    a.socket.send(JSON.stringify(message));
    await once(a.socket, "message");
    a.socket.terminate();
    await expect.poll(() => fake.turns.readers(fake.turns.turnId(0))).toBe(0);
    b.socket.send(JSON.stringify(message));
    await once(b.socket, "message");
    expect(fake.turns.started).toHaveLength(1);
  });

  it("refuses a handshake without the key or from a foreign page, and makes none elsewhere", async () => {
    const { port } = await listening();
    const refusal = async (path: string, headers: Readonly<Record<string, string>>) => {
      const socket = new WebSocket(`ws://127.0.0.1:${port}${path}`, { headers });
      socket.on("error", () => {});
      const [, response] = (await once(socket, "unexpected-response")) as [unknown, { statusCode: number }];
      socket.terminate();
      return response.statusCode;
    };
    const key = { authorization: `Bearer ${fakeKey}` };
    expect(await refusal("/v1/responses", {})).toBe(401);
    expect(await refusal("/v1/responses", { ...key, origin: "https://evil.test" })).toBe(403);
    expect(await refusal("/v1/models", key)).toBe(200); // a page of models: nothing here speaks WebSocket elsewhere
  });

  it("leaves other upgrades to HTTP", async () => {
    const { port } = await listening();
    const { request } = await import("node:http");
    const status = await new Promise((resolve) => {
      const headers = { connection: "upgrade", upgrade: "h2c" };
      request({ port, path: "/health", headers, agent: false }, (response) => {
        response.resume();
        resolve(response.statusCode);
      }).end();
    });
    expect(status).toBe(200);
  });

  it("ends a connection that asks nothing, and one that never ends its message", async () => {
    const whyClosed = async (limits: Parameters<typeof listening>[0], part?: string) => {
      const { port } = await listening(limits);
      const { socket } = await connect(port);
      const closed = once(socket, "close");
      if (part !== undefined) socket.send(part, { fin: false });
      const [code, why] = (await closed) as [number, unknown];
      return [code, String(why)];
    };
    const never = 600_000;
    expect(await whyClosed({ idleMs: 30, requestMs: never })).toEqual([1001, "Nothing was asked for a while."]);
    expect(await whyClosed({ idleMs: never, requestMs: 60 }, '{"type"')).toEqual([
      1001,
      "The message came too slowly.",
    ]);
  });

  it("keeps 32 requests that wait for the one that is answered, and ends with the 33rd", async () => {
    const { port, turns } = await listening();
    turns.script = () => [started];
    const { socket } = await connect(port);
    for (let n = 0; n < 33; n++) socket.send(JSON.stringify({ ...create, input: `${n}` }));
    socket.ping();
    await once(socket, "pong");
    expect(socket.readyState).toBe(WebSocket.OPEN);
    socket.send(JSON.stringify({ ...create, input: "one too many" }));
    expect((await once(socket, "close"))[0]).toBe(1013);
  });

  it("gives the memory of each message back: more go through one connection than fit at once", async () => {
    const { port } = await listening();
    const { socket, ask } = await connect(port, { authorization: `Bearer ${keyOf("one")}` });
    const blanks = " ".repeat(15 * 1024 * 1024); // issued keys have 64 MB
    for (let n = 0; n < 5; n++) expect((await ask(blanks)).at(-1)?.type).toBe("error");
    expect(socket.readyState).toBe(WebSocket.OPEN);
  });

  it("ends a connection whose message is too long to be joined at once, and says where it can go", async () => {
    const { port } = await listening();
    const { socket } = await connect(port);
    socket.on("error", () => {}); // what it still sends is not read
    socket.send("x".repeat(17 * 1024 * 1024));
    const [code, why] = await once(socket, "close");
    expect([code, String(why)]).toEqual([1009, "A message may have 16 MB. Send a longer request over HTTP."]);
  });

  it("is not ended by these times while it is answered", async () => {
    const { port, turns } = await listening({ idleMs: 500, requestMs: 500 });
    turns.script = () => [started, text("Hi")];
    const { socket, ask } = await connect(port);
    const answer = ask({ ...create, input: "Hello" });
    await expect.poll(() => turns.started.length).toBe(1);
    socket.ping();
    await once(socket, "pong");
    const idle = await connect(port);
    await once(idle.socket, "close"); // the times are over
    turns.emit(turns.turnId(0), finished("Hi"));
    expect((await answer).at(-1)?.type).toBe("response.completed");
  });

  it("has 64 places, 32 of them for issued keys and 16 for each of these, and a place is free again once its client has left", async () => {
    const { port } = await listening();
    const statuses = new Set<unknown>();
    /** Opens so many connections, and answers those that got a place. */
    const enter = async (name: string, times: number) => {
      const sockets: WebSocket[] = [];
      for (let time = 0; time < times; time++) {
        const headers = { authorization: `Bearer ${keyOf(name)}` };
        const socket = new WebSocket(`ws://127.0.0.1:${port}/v1/responses`, { headers });
        socket.on("error", () => {});
        opened.push({ close: () => socket.terminate() });
        const refused = once(socket, "unexpected-response").then(
          ([, answer]) => (answer as IncomingMessage).statusCode,
        );
        const status = await Promise.race([once(socket, "open").then(() => "open"), refused]);
        statuses.add(status);
        if (status === "open") sockets.push(socket);
      }
      return sockets;
    };
    const [first] = await enter("one", 16);
    const counts = [];
    for (const [name, times] of [
      ["one", 1],
      ["two", 17],
      ["three", 1],
      ["owner", 33],
    ] as const)
      counts.push((await enter(name, times)).length);
    expect(counts).toEqual([0, 16, 0, 32]);
    expect([...statuses]).toEqual(["open", 503]);
    first?.terminate();
    await expect.poll(async () => (await enter("one", 1)).length).toBe(1);
  });

  it("tells its clients that the gateway stops", async () => {
    const { port, here } = await listening();
    const { socket } = await connect(port);
    const closed = once(socket, "close");
    await here.close();
    expect((await closed)[0]).toBe(1012);
  });
});

it("is not served by a Node that would hand over every upgrade", () => {
  expect([
    canServeSockets("22.21.0"),
    canServeSockets("24.8.1"),
    canServeSockets("24.9.0"),
    canServeSockets("25.0.0"),
  ]).toEqual([false, false, true, true]);
});

describe("a client that asks for a WebSocket where none is served", () => {
  it("hears 426 at once, and the key is asked for first", async () => {
    const { request } = fakeGateway();
    const headers = { upgrade: "websocket" };
    expect((await request("/v1/responses", { headers })).status).toBe(426);
    expect((await request("/v1/responses", { headers: { ...headers, authorization: "" } })).status).toBe(401);
    expect((await request("/v1/responses")).status).toBe(405);
  });
});
