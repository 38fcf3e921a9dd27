import { execFileSync, spawn } from "node:child_process";
import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { Readable, Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { agent, type ContentBlock, methods, ndJsonStream, RequestError } from "@agentclientprotocol/sdk";
import { z } from "zod";
import type { AgentPlan, JournalLine, StoredMessages } from "./scripted-plan.fake.ts";

/*
 * A real ACP agent on the official SDK, for tests: a program that goes by `plan.json` in the folder of FAKE_AGENT_FOLDER,
 * writes what it is asked into `journal.jsonl` there, and stores its sessions beside them. So what one process did, the
 * next one and the test can see.
 */

const folder = process.env["FAKE_AGENT_FOLDER"] ?? "/dev/null"; // no folder: without one it fails, and writes nothing where it stands
const plan = (): AgentPlan => JSON.parse(readFileSync(join(folder, "plan.json"), "utf8")) as AgentPlan; // the test wrote it
const note = (line: JournalLine) => appendFileSync(join(folder, "journal.jsonl"), `${JSON.stringify(line)}\n`);
const sessions = join(folder, "sessions");
mkdirSync(sessions, { recursive: true });
const fileOf = (id: string) => join(sessions, `${id}.json`);
const save = (id: string, stored: StoredMessages) => writeFileSync(fileOf(id), JSON.stringify(stored));
const load = (id: string): StoredMessages | undefined =>
  existsSync(fileOf(id)) ? (JSON.parse(readFileSync(fileOf(id), "utf8")) as StoredMessages) : undefined; // as `save` wrote it

const cancels = new Map<string, () => void>();
const models = new Map<string, string>();
const unstored = new Set<string>();
note({
  what: "start",
  pid: process.pid,
  args: process.argv.slice(2),
  environment: { ...process.env },
  cwd: process.cwd(),
});

function dieAt(point: AgentPlan["crashAt"]): void {
  const now = plan();
  if (now.crashAt !== point || point === undefined) return;
  const { crashAt: _once, ...rest } = now;
  if (now.crashesAgain !== true) writeFileSync(join(folder, "plan.json"), JSON.stringify(rest));
  process.kill(process.pid, "SIGKILL");
}

const options = (sessionId: string) => [
  {
    id: "model",
    name: "Model",
    category: "model",
    type: "select" as const,
    currentValue: models.get(sessionId) ?? "small",
    options: [
      { value: "small", name: "Small" },
      { value: "claude-opus-4-7-medium", name: "Opus", description: "A large one" },
      ...(plan().models ?? []).map((value) => ({ value, name: value })),
    ],
  },
];
/** The models, as the options of a session or as an older protocol has them. */
const modelsOf = (sessionId: string) => {
  const configOptions = options(sessionId);
  if (plan().isOlder !== true) return { configOptions };
  const availableModels = configOptions[0]?.options.map(({ value, name }) => ({ modelId: value, name })) ?? [];
  return { models: { currentModelId: models.get(sessionId) ?? "small", availableModels } };
};
const modesNow = () => {
  const { modes: ids = ["accept-edits", "ask"] } = plan();
  const [currentModeId] = ids;
  return currentModeId === undefined
    ? {}
    : { modes: { currentModeId, availableModes: ids.map((id) => ({ id, name: id })) } };
};

const textOf = (blocks: readonly ContentBlock[]) =>
  blocks.map((block) => (block.type === "text" ? block.text : "")).join("");

const app = agent({ name: "scripted" })
  .onRequest(methods.agent.initialize, ({ params }) => {
    dieAt("initialize");
    const { clientInfo, clientCapabilities } = params;
    note({ what: "initialize", client: clientInfo?.name ?? "", capabilities: clientCapabilities });
    const { onlyClient, can = {}, agentName = "scripted", agentVersion = "1.2.3" } = plan();
    if (onlyClient !== undefined && clientInfo?.name !== onlyClient)
      throw new RequestError(-32600, "client not allowed");
    return {
      protocolVersion: 1,
      agentInfo: { name: agentName, version: agentVersion },
      agentCapabilities: {
        loadSession: can.load ?? true,
        promptCapabilities: { image: can.images ?? true },
        sessionCapabilities: {
          ...(can.delete === false ? {} : { delete: {} }),
          ...(can.title === true ? { title: {} } : {}),
        },
      },
    };
  })
  .onRequest(methods.agent.session.new, () => {
    dieAt("new");
    const id = `word-${readdirSync(sessions).length}-${process.pid}-${unstored.size}`;
    unstored.add(id);
    if (plan().storesUnprompted === true) save(id, []);
    const { newError } = plan();
    if (newError !== undefined) throw new RequestError(newError.code, newError.message, newError.data);
    return { sessionId: id, ...modesNow(), ...modelsOf(id) };
  })
  .onRequest(methods.agent.session.load, async ({ params, client }) => {
    const { sessionId } = params;
    dieAt("load");
    note({ what: "load", sessionId });
    const { locked, onLocked } = plan();
    if (locked === true) {
      if (onLocked !== undefined) writeFileSync(join(folder, "plan.json"), JSON.stringify(onLocked));
      throw new RequestError(-32015, "session is locked by another process");
    }
    const stored = load(sessionId);
    if (stored === undefined) throw new RequestError(-32016, `session not found: ${sessionId}`);
    for (const { role, text, ended, usage } of stored) {
      const sessionUpdate = role === "user" ? ("user_message_chunk" as const) : ("agent_message_chunk" as const);
      await client.notify(methods.client.session.update, {
        sessionId,
        update: { sessionUpdate, content: { type: "text", text } },
      });
      const counted = { sessionUpdate: "agent_message_chunk", content: { type: "text", text: "" }, _meta: { usage } };
      if (usage !== undefined) await client.notify("session/update", { sessionId, update: counted } as never);
      if (ended !== undefined) await client.notify("_cognition.ai/agent_stopped", { sessionId, cause: ended });
    }
    const { loadedModes } = plan();
    return {
      ...modesNow(),
      ...(loadedModes === undefined ? {} : { modes: loadedModes }),
      ...modelsOf(sessionId),
    } as never;
  })
  .onRequest(methods.agent.session.setMode, ({ params }) => {
    note({ what: "mode", sessionId: params.sessionId, value: params.modeId });
    return {};
  })
  .onRequest("session/set_title", z.object({ sessionId: z.string(), title: z.string() }), ({ params }) => {
    note({ what: "title", sessionId: params.sessionId, value: params.title });
    return {};
  })
  .onRequest("session/set_model", z.object({ sessionId: z.string(), modelId: z.string() }), ({ params }) => {
    models.set(params.sessionId, params.modelId);
    return {};
  })
  .onRequest(methods.agent.session.setConfigOption, ({ params }) => {
    if (plan().isOlder === true) throw RequestError.methodNotFound("session/set_config_option");
    models.set(params.sessionId, String(params.value));
    return { configOptions: options(params.sessionId) };
  })
  .onRequest(methods.agent.session.delete, ({ params }) => {
    dieAt("delete");
    note({ what: "delete", sessionId: params.sessionId });
    rmSync(fileOf(params.sessionId), { force: true });
    return {};
  })
  .onNotification(methods.agent.session.cancel, ({ params }) => {
    note({ what: "cancel", sessionId: params.sessionId });
    cancels.get(params.sessionId)?.();
  })
  .onRequest(methods.agent.session.prompt, async ({ params, client }) => {
    const { sessionId } = params;
    const now = plan();
    dieAt("before-store");
    const [command = ""] = /^\/(\S+)/.exec(textOf(params.prompt).trimStart())?.slice(1) ?? [];
    const line = now.commands?.[command];
    if (line !== undefined) execFileSync("/bin/sh", ["-c", line]);
    if (now.refuse !== undefined) throw new RequestError(now.refuse.code, now.refuse.message, now.refuse.data);
    const text = textOf(params.prompt);
    const images = params.prompt.filter(({ type }) => type === "image").length;
    note({ what: "accepted", pid: process.pid, sessionId, text, images, model: models.get(sessionId) ?? "small" });
    const stored: StoredMessages = [...(load(sessionId) ?? []), { role: "user", text }];
    save(sessionId, stored);
    dieAt("after-store");
    const cancelled = new Promise<true>((resolve) => cancels.set(sessionId, () => resolve(true)));
    const tell = (update: object) => client.notify("session/update", { sessionId, update } as never); // also updates that the SDK would refuse
    const say = (part: string) => tell({ sessionUpdate: "agent_message_chunk", content: { type: "text", text: part } });
    const answer = now.text ?? "";
    const half = Math.ceil(answer.length / 2);
    for (const update of now.updates ?? []) await tell(update);
    if (now.crashAt === "working") {
      if (now.loses === true) rmSync(fileOf(sessionId), { force: true });
      await new Promise((resolve) => process.stdout.write("", resolve));
      dieAt("working");
    }
    if (now.writes !== undefined) {
      const step = { toolCallId: "w", title: `Write ${now.writes}`, kind: "edit" };
      await tell({ ...step, sessionUpdate: "tool_call", status: "in_progress" });
      writeFileSync(now.writes, "written by the agent");
      await tell({ ...step, sessionUpdate: "tool_call_update", status: "completed" });
    }
    for (let times = now.permissions ?? 1; now.permission !== undefined && times > 0; times--) {
      const reply = await client.request("session/request_permission", { sessionId, ...now.permission } as never);
      note({ what: "permission", reply });
    }
    if (now.asks !== undefined) {
      const reply = await client
        .request(now.asks, { sessionId, ...now.asking })
        .catch((error: unknown) => ({ code: codeOf(error) }));
      note({ what: "asked", reply });
    }
    await say(answer.slice(0, half));
    if (now.crashAt === "mid-answer") {
      if (now.storesParts === true) save(sessionId, [...stored, { role: "agent", text: answer.slice(0, half) }]);
      await new Promise((resolve) => process.stdout.write("", resolve));
      dieAt("mid-answer");
    }
    if (now.halfLine === true) {
      process.stdout.write('{"jsonrpc":"2.0","method":"session/upd');
      await new Promise(() => {});
    }
    if (now.levels !== undefined)
      process.stdout.write(`{"method":"x","params":${"[".repeat(now.levels)}${"]".repeat(now.levels)}}\n`);
    if (now.pauses === true) while (plan().pauses === true) await sleep(5);
    if (now.lateMs === undefined) await say(answer.slice(half));
    else setTimeout(() => void say(answer.slice(half)), now.lateMs);
    if (now.holds === true && (await cancelled)) return { stopReason: "cancelled" };
    const ended = {
      ...(now.marksEnd === true ? { ended: "complete" } : {}),
      ...(now.countsMessages === true ? { usage: { inputTokens: 3, outputTokens: 5 } } : {}),
    };
    save(sessionId, [...stored, { role: "agent", text: answer, ...ended }]);
    dieAt("before-reply");
    return {
      stopReason: now.stopReason ?? "end_turn",
      ...(now.usage === undefined ? {} : { usage: now.usage }),
    } as never;
  });

function codeOf(error: unknown): unknown {
  return error instanceof RequestError ? error.code : "other";
}

if (plan().exitsAtOnce === true) {
  process.stderr.write(`cannot start: the key is ${process.env["FAKE_KEY"] ?? ""}\n`);
  process.exit(3);
}
if (plan().noise === true) {
  process.stdout.write("Welcome to the agent!\n{not json\n[1,2]\n\n");
  process.stderr.write("warn: noise\n".repeat(2_000));
}
if (plan().stubborn === true) {
  process.on("SIGTERM", () => {});
  setInterval(() => {}, 60_000);
}
if (plan().grandchild === true) {
  const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], { detached: true, stdio: "ignore" });
  writeFileSync(join(folder, "grandchild"), String(child.pid));
}
if (plan().mumbles !== undefined) {
  // Below the SDK, which always answers: the request is taken out of the input.
  process.stdin.setEncoding("utf8");
  process.stdin.on("data", (text: string) => {
    for (const line of text.split("\n").filter((each) => each !== "")) {
      const { id, method } = JSON.parse(line) as { readonly id?: number; readonly method?: string };
      const result = { protocolVersion: 1, agentCapabilities: {}, sessionId: "s", ...modesNow() };
      const said = { id: method === plan().mumbles ? 4_711 : id, result };
      if (id !== undefined) process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...said })}\n`);
    }
  });
} else {
  // Web streams of Node and of the SDK's types differ in their declarations only.
  app.connect(ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin) as never));
}
