import { once } from "node:events";
import { createServer as createHttp2Server, type ServerHttp2Session } from "node:http2";
import { type AddressInfo, createServer as createNetServer, type Socket } from "node:net";
import { afterEach, expect, onTestFinished, test, vi } from "vitest";
import { FakeClock } from "../../base/clock.fake.ts";
import { until } from "../../base/wait.fake.ts";
import { fakeEndpoint } from "./endpoint.fake.ts";
import { http1Agent } from "./http1-agent.ts";
import { Http2Connection } from "./http2-session.ts";

/** A server that answers each request, and counts the pings that it gets. */
async function serve() {
  const sessions: ServerHttp2Session[] = [];
  const sockets = new Set<Socket>();
  let [pings, accepted] = [0, 0];
  const server = createHttp2Server();
  server.on("session", (session) => {
    sessions.push(session);
    session.on("ping", () => pings++);
    session.on("error", () => {});
  });
  server.on("stream", (stream) => {
    stream.on("error", () => {});
    stream.respond({ ":status": 200 });
    stream.end();
  });
  server.on("connection", (socket: Socket) => {
    accepted++;
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const { port } = server.address() as AddressInfo; // it listens on TCP
  return { endpoint: fakeEndpoint(port, "grpc"), sessions, sockets, pings: () => pings, accepted: () => accepted };
}

function connectionTo(endpoint: ReturnType<typeof fakeEndpoint>, checkHolder?: () => Promise<void>) {
  const clock = new FakeClock();
  const connection = new Http2Connection(endpoint, clock, checkHolder);
  onTestFinished(() => connection.close());
  return { clock, connection };
}

afterEach(() => vi.useRealTimers());

test("a connection that was silent for 20 s is tested by a ping before it is used, and no sooner", async () => {
  const { endpoint, sessions, pings } = await serve();
  const { clock, connection } = connectionTo(endpoint);
  const session = await connection.open();
  await clock.advance(20_000);
  expect(connection.ready).toBe(session);
  await clock.advance(1);
  expect(connection.ready).toBeUndefined();
  expect(await connection.open()).toBe(session);
  expect([pings(), sessions.length]).toEqual([1, 1]);
  expect(connection.ready).toBe(session); // the ping was a sign of life
  await clock.advance(15_000);
  connection.noteAlive();
  await clock.advance(15_000);
  expect(connection.ready).toBe(session);
});

test("a connection that is closed by what an answer brought ends after the read that brought it", async () => {
  const { endpoint } = await serve();
  const { connection } = connectionTo(endpoint);
  const session = await connection.open();
  const [first, second] = [0, 1].map(() => session.request({ ":path": "/", ":method": "POST" }));
  second?.on("error", () => {});
  await new Promise((resolve) => first?.once("response", resolve));
  connection.close();
  expect([session.destroyed, connection.ready]).toEqual([false, undefined]);
  await once(session, "close");
  expect(session.destroyed).toBe(true);
});

test("a connection whose ping is not answered within 5 s is given up for a new one", async () => {
  const silent = createNetServer((socket) => {
    sockets.push(socket);
    socket.on("error", () => {});
    // The settings of a server, and then nothing.
    socket.write(Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]));
  });
  const sockets: Socket[] = [];
  silent.listen(0, "127.0.0.1");
  await once(silent, "listening");
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    silent.close();
  });
  const { clock, connection } = connectionTo(fakeEndpoint((silent.address() as AddressInfo).port, "grpc"));
  const first = await connection.open();
  await clock.advance(20_001);
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const second = connection.open();
  await vi.advanceTimersByTimeAsync(4_999);
  expect(first.destroyed).toBe(false);
  await vi.advanceTimersByTimeAsync(1);
  expect((await second) === first).toBe(false);
  expect(first.destroyed).toBe(true);
});

test("a server that falls silent while an answer is awaited is tested by itself", async () => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  const { endpoint, pings } = await serve();
  const { clock, connection } = connectionTo(endpoint);
  const session = await connection.open();
  await clock.advance(21_000);
  await vi.advanceTimersByTimeAsync(20_000);
  await new Promise((resolve) => session.ping(resolve)); // it comes after any that was sent before
  expect(pings()).toBe(1); // nothing was awaited
  const stream = session.request({ ":path": "/", ":method": "POST" }, { endStream: false });
  connection.track(session, stream);
  await vi.advanceTimersByTimeAsync(20_000);
  await until(() => pings() === 2);
  stream.close();
});

test("the connection keeps the process alive while a request runs on it, and no longer", async () => {
  const { endpoint } = await serve();
  const { connection } = connectionTo(endpoint);
  const session = await connection.open();
  const [ref, unref] = [vi.spyOn(session, "ref"), vi.spyOn(session, "unref")];
  const begin = () => {
    const stream = session.request({ ":path": "/", ":method": "POST" });
    connection.track(session, stream);
    return stream;
  };
  const [first, second] = [begin(), begin()];
  expect([ref.mock.calls.length, unref.mock.calls.length]).toEqual([1, 0]);
  const closed = [once(first, "close"), once(second, "close")];
  first.resume();
  await closed[0];
  expect(unref).not.toHaveBeenCalled();
  second.resume();
  await closed[1];
  expect(unref).toHaveBeenCalledOnce();
});

/** A check of the holder that a test ends. */
function heldCheck() {
  const asked = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<void>();
  const checkHolder = () => {
    asked.resolve();
    return answer.promise;
  };
  return { checkHolder, asked: asked.promise, allow: answer.resolve, refuse: answer.reject };
}

test("a connection that is closed while it opens opens none, and one that may not be used is closed", async () => {
  const { endpoint, sessions, sockets, accepted } = await serve();
  const held = heldCheck();
  const { connection } = connectionTo(endpoint, held.checkHolder);
  const opening = connection.open();
  await held.asked;
  connection.close();
  held.allow();
  await expect(opening).rejects.toThrow("closed");
  await until(() => sockets.size === 0);
  const before = accepted();
  await expect(connection.open()).rejects.toThrow("closed");

  const refused = heldCheck();
  const other = connectionTo(endpoint, refused.checkHolder).connection.open();
  await refused.asked;
  await until(() => accepted() > before);
  expect(accepted()).toBe(before + 1); // the closed one made none
  refused.refuse(new Error("another program"));
  await expect(other).rejects.toThrow("another program");
  await until(() => sockets.size === 0);
  expect(sessions.flatMap((session) => (session.destroyed ? [] : [session]))).toEqual([]);
});

test("an HTTP/1.1 connection that was being made when its agent was closed is closed too", async () => {
  const { endpoint, sockets } = await serve();
  const held = heldCheck();
  const agent = http1Agent(endpoint, held.checkHolder);
  const made = new Promise<Error | null>((resolve) => {
    agent.createConnection({}, (error) => resolve(error));
  });
  await held.asked;
  agent.destroy();
  held.allow();
  expect(await made).toBeInstanceOf(Error);
  await until(() => sockets.size === 0);
});
