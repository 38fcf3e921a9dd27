import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createConnection, type Socket } from "node:net";
import { join } from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";
import { afterEach, describe, expect, test } from "vitest";
import { systemClock } from "../../../base/clock.ts";
import { openDoor } from "../../../base/node/door.ts";
import type { TurnEventBody } from "../../../log/event.ts";
import { eventsOf } from "../../backend.ts";
import { promptFor } from "../../prompt.fake.ts";
import { ScriptedHarness } from "../scripted-harness.fake.ts";
import { HostedChild } from "./hosted-child.ts";
import { endHosts, lookAtHosts } from "./hosts.ts";
import { wireVersion } from "./wire.ts";

/*
 * A host outlives its gateway, so after an update it is of the build before. The program of that build is a fixture; its number is
 * changed where a test needs a host of a later one. It was built from `main.ts` of the last build with that version of the wire:
 *
 *     const host = await rolldown({ input: "src/backends/acp/host/main.ts", platform: "node", external: [/^node:/] });
 *     await host.write({ file: "test/corpus/agent-hosts/version-<n>.js", format: "esm", minify: true, comments: false });
 */

const built = readFileSync(join(import.meta.dirname, "../../../../test/corpus/agent-hosts/version-3.js"), "utf8");
const text = "Hello there, friend.";

let harness: ScriptedHarness;
let stop = () => {};
const folder = () => join(harness.folder, "agents");
afterEach(async () => {
  stop();
  await Promise.all(harness.agents.map((agent) => agent.close()));
  await endHosts(folder());
  await harness.close();
});

/** A prompt that a gateway of the build with that version sent, which is then gone. Answers its session. */
async function leftBy(version: number): Promise<string> {
  mkdirSync(folder(), { recursive: true });
  const program = join(harness.folder, "host.mjs");
  writeFileSync(program, built.replaceAll("version:3,", `version:${version},`));
  const door = join(folder(), "5792d298-00000001.agent"); // as the name of "devin" begins
  const { command, args, environment } = harness.spec;
  const launch = { command, args, environment: { ...environment }, cwd: harness.folder };
  const host = spawn(process.execPath, ["--no-warnings", program], { stdio: ["pipe", "pipe", "ignore"], env: {} });
  stop = () => host.kill("SIGKILL");
  host.stdin.end(JSON.stringify({ launch, agent: "devin", door, doors: {}, aloneMs: 600_000 }));
  await once(host.stdout, "data");
  const socket = createConnection(door);
  await once(socket, "connect");
  const lines = createInterface(socket)[Symbol.asyncIterator]();
  const send = (order: object) => socket.write(`${JSON.stringify(order)}\n`);
  const reply = async (id: number): Promise<{ readonly result: Record<string, unknown> }> => {
    for (;;) {
      const line = String((await lines.next()).value);
      const message = line.startsWith("<") ? JSON.parse(line.slice(1)) : undefined;
      if (message?.id === id) return message;
    }
  };
  let read = 0;
  const ask = (id: number, method: string, params: object, note = {}) => {
    const write = `${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`;
    send({ type: "tell", read: read++, write, ...note });
  };
  send({ type: "hello", role: "starter" });
  ask(1, "initialize", { protocolVersion: 1, clientCapabilities: {}, clientInfo: { name: "m", version: "1" } });
  const initialized = (await reply(1)).result;
  ask(2, "session/new", { cwd: harness.folder, mcpServers: [] });
  const sessionId = String((await reply(2)).result["sessionId"]);
  const sessions = [{ id: sessionId, userMessages: 1, told: "", prompt: { id: 3, from: 2 } }];
  const state = JSON.stringify({ launch: "ask", settings: "before", initialized, sessions, loads: [] });
  const note = { state, keep: 2, running: [3], sessions: [sessionId] };
  ask(3, "session/prompt", { sessionId, prompt: [{ type: "text", text: "Hello?" }] }, { note });
  await lines.next(); // it answers
  socket.destroy();
  await expect.poll(async () => (await lookAtHosts(folder())).map(({ served }) => served)).toEqual([false]);
  return sessionId;
}

async function resumed(sessionId: string): Promise<TurnEventBody[]> {
  const agent = harness.agent({ hosts: { folder: folder() } });
  const from = { cascadeId: `acp:devin:${sessionId}` as never, text: "", thinking: "" };
  const { signal } = new AbortController();
  const events: TurnEventBody[] = [];
  const options = { keep: false, onAlive: () => {} };
  for await (const event of eventsOf(agent.backend.resume(promptFor("devin/default"), from, options, signal)))
    events.push(event);
  return events;
}

const said = (events: readonly TurnEventBody[]) =>
  events.map((event) => (event.type === "text" ? event.delta : "")).join("");

describe.skipIf(process.platform === "win32")("a host of another build", () => {
  test.each([3, 99])(
    "of version %d, which cannot be read: its prompt ends, the answer is read from its session, and the host ends",
    async (version) => {
      harness = await ScriptedHarness.open({ text, pauses: true, marksEnd: true });
      const sessionId = await leftBy(version);
      const resumption = resumed(sessionId);
      await expect.poll(async () => (await lookAtHosts(folder())).map(({ running }) => running)).toEqual([1]);
      await harness.plan({ text, marksEnd: true });
      const events = await resumption;
      expect([said(events), events.at(-1)]).toMatchObject([text, { type: "finished", text }]);
      expect(await harness.count("accepted")).toBe(1);
      expect((await lookAtHosts(folder())).map((look) => look.version)).not.toContain(version);
    },
  );
});

/** A host, as a test plays it: what its gateway tells it, and how many bytes that was. */
async function played() {
  harness = await ScriptedHarness.open();
  mkdirSync(folder(), { recursive: true });
  const path = join(folder(), "00000000-00000001.agent");
  const heard = { bytes: 0, orders: [] as { readonly note?: { readonly state: string; readonly parts?: object } }[] };
  const welcome = {
    version: wireVersion,
    hostPid: 1,
    pid: 1,
    earlier: 0,
    first: 0,
    read: 0,
    state: null,
    parts: {},
    errors: "",
  };
  const sockets: Socket[] = [];
  const door = openDoor(path, {}, (socket) => {
    sockets.push(socket);
    createInterface(socket).on("line", (line) => {
      heard.bytes += line.length;
      heard.orders.push(JSON.parse(line));
      if (heard.orders.length === 1) socket.write(`${JSON.stringify(welcome)}\n`);
    });
  });
  await door.opened;
  stop = () => {
    for (const socket of sockets) socket.destroy();
    door.close();
  };
  const child = await HostedChild.open(path, "starter", systemClock);
  const tell = (state: string, parts: Readonly<Record<string, string>>) => {
    child.note({ state, parts, keep: 0, running: [] });
    child.write("");
  };
  return { heard, tell, leave: () => child.leave() };
}

describe.skipIf(process.platform === "win32")("a note", () => {
  const large = JSON.stringify("x".repeat(80_000));
  test("names each large part once", async () => {
    const { heard, tell, leave } = await played();
    for (let at = 0; at < 50; at++) tell(`{"at":${at}}`, at < 40 ? { a: large, b: String(at) } : { b: "0" });
    await leave();
    await expect.poll(() => heard.orders.length).toBe(51);
    expect(heard.bytes).toBeLessThan(2 * large.length);
    expect(heard.orders[41]?.note?.parts).toEqual({ a: null, b: "0" });
    expect(heard.orders[50]?.note?.parts).toEqual({});
  });
});
