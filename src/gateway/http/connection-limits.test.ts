import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { connect as connectHttp2 } from "node:http2";
import { connect, type Socket } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { systemClock } from "../../base/clock.ts";
import { fakeGateway, fakeKey } from "../gateway.fake.ts";
import { type Listener, listen } from "./listen.ts";

const opened: Listener[] = [];
afterEach(async () => {
  for (const listening of opened.splice(0)) await listening.close();
});

/** Only ever waited out where a limit holds. */
const short = { firstByteMs: 150, headersMs: 150, requestMs: 300, idleMs: 150 };

async function listening(limits: Partial<typeof short> = {}): Promise<Listener> {
  const { gateway } = fakeGateway({ clock: systemClock });
  const here = await gateway.listen({ host: "127.0.0.1", port: 0, limits: { ...short, ...limits } });
  opened.push(here);
  return here;
}

/** Everything that the gateway sent until it closed the connection. */
async function untilClosed(port: number, write: (socket: Socket) => void): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  let got = "";
  socket.on("data", (bytes: Buffer) => (got += bytes.toString("latin1")));
  socket.on("error", () => {}); // a reset is an end too, so nothing here waits with `once`, which rejects on it
  const closed = new Promise((resolve) => socket.on("close", resolve));
  socket.on("connect", () => write(socket));
  await closed;
  return got;
}

const head = `POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${fakeKey}\r\n`;

describe("a connection that keeps the gateway waiting is closed", () => {
  it.each([
    ["says nothing", () => {}],
    ["stops in the middle of HTTP/2's preface", (socket: Socket) => socket.write("PRI * HT")],
    ["sends HTTP/2's preface and nothing more", (socket: Socket) => socket.write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")],
    ["stops in its headers", (socket: Socket) => socket.write(head)],
    [
      "stops in its body",
      (socket: Socket) => socket.write(`${head}content-type: application/json\r\ncontent-length: 100\r\n\r\n{"mo`),
    ],
    [
      "asks once and keeps the line",
      (socket: Socket) => socket.write("GET /health HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n"),
    ],
    [
      "stops in the headers of its second request",
      (socket: Socket) => socket.write("GET /health HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\nGET /health HTTP/1.1\r\nho"),
    ],
  ] as const)("when it %s", async (_, write) => {
    const { port } = await listening();
    await expect(untilClosed(port, write)).resolves.toBeTypeOf("string"); // it hangs where no limit holds
  });

  it("and a late body is answered with 408", async () => {
    const { port } = await listening();
    const got = await untilClosed(port, (socket) => socket.write(`${head}content-length: 100\r\n\r\n{"mo`));
    expect(got).toContain("408");
  });
});

describe("an answer that is being sent", () => {
  it("is ended by no limit, however slowly it flows", async () => {
    const beats = 4;
    const sayBeats = async (response: ServerResponse) => {
      for (let beat = 0; beat < beats; beat++) {
        response.write(`beat ${beat}\n`);
        await systemClock.sleep(2 * short.requestMs, new AbortController().signal);
      }
      response.end();
    };
    const here = await listen(
      { host: "127.0.0.1", port: 0, limits: short },
      {
        http1: (_request, response) => void sayBeats(response),
      },
    );
    opened.push(here);
    const answer = await (await fetch(here.url)).text();
    expect(answer.trim().split("\n")).toHaveLength(beats);
  });
});

describe("a connection", () => {
  const ask = "GET /health HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n";

  it("may have any number of requests, but 64 of them open at once", async () => {
    const held: ServerResponse[] = [];
    let answers = (response: ServerResponse): void => void response.end("ok");
    const http1 = (_request: unknown, response: ServerResponse) => answers(response);
    const here = await listen({ host: "127.0.0.1", port: 0 }, { http1 });
    opened.push(here);
    const socket = connect(here.port, "127.0.0.1");
    const closed = once(socket, "close");
    let got = "";
    socket.on("data", (bytes: Buffer) => (got += bytes.toString("latin1")));
    const count = () => got.split("HTTP/1.1 200").length - 1;
    for (let asked = 1; asked <= 70; asked++) {
      socket.write(ask);
      await expect.poll(count, { interval: 1 }).toBe(asked);
    }
    answers = (response) => void held.push(response);
    socket.write(ask.repeat(64));
    await expect.poll(() => held.length, { interval: 1 }).toBe(64);
    expect(socket.destroyed).toBe(false);
    socket.write(ask);
    await closed;
  });

  it("of HTTP/2 that has asked is closed once it is idle, and not before its answer is whole", async () => {
    const { port } = await listening({ idleMs: 50 });
    const session = connectHttp2(`http://127.0.0.1:${port}`);
    const closed = once(session, "close");
    const stream = session.request({ ":path": "/health" });
    stream.resume();
    await once(stream, "close");
    expect(await closed).toEqual([]); // it hangs where the stream still counts
  });
});
