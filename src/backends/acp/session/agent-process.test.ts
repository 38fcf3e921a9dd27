import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { FakeClock } from "../../../base/clock.fake.ts";
import { idle } from "../../../base/wait.fake.ts";
import type { ToolSpec } from "../../backend.ts";
import { takeOver } from "../process/connection.ts";
import { RelayHub } from "../relay/relay-hub.ts";
import type { AgentChild, HostNote } from "../wire/agent-child.ts";
import { AgentProcess } from "./agent-process.ts";
import { NativeKnowledge } from "./native-knowledge.ts";

const never = new AbortController().signal;
const gb = 1024 ** 3;
const tool: ToolSpec = {
  name: "step",
  description: "A step.",
  inputSchema: { type: "object" },
  check: () => undefined,
};

/** A process whose agent a test plays: it does at once what it is asked. */
function played() {
  const cwd = mkdtempSync(join(tmpdir(), "agent-"));
  const clock = new FakeClock();
  const hub = new RelayHub(cwd);
  onTestFinished(() => {
    hub.close();
    rmSync(cwd, { recursive: true, force: true });
  });
  const asked: { readonly method: string; readonly params: Readonly<Record<string, unknown>> }[] = [];
  const notes: HostNote[] = [];
  const exited = Promise.withResolvers<string>();
  const agent = { bytes: 0, opened: 0, refuses: undefined as string | undefined, say: (_text: string) => {} };
  const answer = (text: string) => {
    const { id, method, params } = JSON.parse(text) as { id?: number } & (typeof asked)[number];
    asked.push({ method, params });
    const result = method === "session/new" ? { sessionId: `s${++agent.opened}` } : {};
    const reply = method === agent.refuses ? { error: { code: -32_603, message: "No." } } : { result };
    if (id !== undefined && method !== "session/prompt")
      queueMicrotask(() => agent.say(`${JSON.stringify({ jsonrpc: "2.0", id, ...reply })}\n`));
  };
  const host = { read: 0, firstId: 1, note: (note: HostNote) => notes.push(note), leave: async () => {} };
  const child = {
    pid: 1,
    write: (text: string) => text.trim().split("\n").forEach(answer),
    onText(listener: (text: string) => void) {
      agent.say = (text) => (host.read++, listener(text));
    },
    exited: exited.promise,
    rssBytes: async () => agent.bytes,
    host,
  } as unknown as AgentChild; // nothing else of it is used
  const own = { args: [], environment: {}, meta: undefined, mode: undefined, sharesServers: true, server: "mill" };
  const initialized = { agentCapabilities: { loadSession: true, sessionCapabilities: { close: {}, delete: {} } } };
  const connection = takeOver(child, { cwd, own, launch: "l", settings: "s" }, initialized);
  const process = new AgentProcess(connection, { hub, clock, knowledge: new NativeKnowledge("auto") });
  const noted = () =>
    (JSON.parse(notes.at(-1)?.state ?? "{}") as { readonly sessions: { readonly id: string }[] }).sessions.map(
      ({ id }) => id,
    );
  const closed = () => asked.flatMap(({ method, params }) => (method === "session/close" ? [params["sessionId"]] : []));
  return { process, clock, agent, asked, noted, closed, crash: () => exited.resolve("exit code 1") };
}

test("where an agent takes a gigabyte, the older half of its idle sessions is closed; it is measured every ten seconds at most", async () => {
  const { process, clock, agent, closed } = played();
  for (let n = 0; n < 4; n++) await process.newSession(never);
  agent.bytes = gb - 1;
  await process.saveMemory();
  agent.bytes = gb;
  await clock.advance(9_999);
  await process.saveMemory();
  expect(closed()).toEqual([]);
  await clock.advance(1);
  await process.saveMemory();
  expect(closed()).toEqual(["s1", "s2"]);
  expect([...process.sessions.keys()]).toEqual(["s3", "s4"]);
});

test("a session that ends leaves the note for the next gateway, and its folder to the next session", async () => {
  const { process, asked, noted } = played();
  const folders = () =>
    asked.flatMap(({ method, params }) => (method === "session/new" ? String(params["cwd"]).slice(-2) : []));
  const first = await process.newSession(never, [tool]);
  await process.newSession(never, [tool]);
  expect([noted(), folders()]).toEqual([
    ["s1", "s2"],
    ["/1", "/2"],
  ]);
  await first.end({ type: "expired" });
  expect(noted()).toEqual(["s2"]);
  await process.newSession(never, [tool]);
  expect([noted(), folders()]).toEqual([
    ["s2", "s3"],
    ["/1", "/2", "/1"],
  ]);
});

test("a session whose deletion fails is told, and is no more all the same", async () => {
  const { process, agent, noted } = played();
  const session = await process.newSession(never);
  agent.refuses = "session/delete";
  await expect(session.end({ type: "expired" })).rejects.toThrow("No.");
  expect([process.sessions.size, noted()]).toEqual([0, []]);
});

test("what an agent writes after it loaded a session belongs to the session's prompt", async () => {
  const { process, agent } = played();
  const { session, replayed } = await process.loadSession("stored", { fromStep: 0, before: 0 }, never);
  session.take();
  const prompt = session.send([]);
  const update = { sessionUpdate: "agent_message_chunk", content: { type: "text", text: "Hi." } };
  agent.say(
    `${JSON.stringify({ jsonrpc: "2.0", method: "session/update", params: { sessionId: "stored", update } })}\n`,
  );
  expect(prompt.take()).toMatchObject([{ type: "text", delta: "Hi." }]);
  expect(replayed.accepted).toBe(false);
  expect(process.runningTurns).toBe(1);
});

test("with its process all its sessions end, and their prompts too", async () => {
  const { process, crash } = played();
  const session = await process.newSession(never);
  session.take();
  const prompt = session.send([]);
  crash();
  await prompt.ended;
  await idle();
  expect(prompt.end).toMatchObject({ type: "died" });
  expect([process.sessions.size, process.runningTurns]).toEqual([0, 0]);
});
