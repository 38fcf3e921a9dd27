import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { patience } from "../rpc-client.fake.ts";
import { type Simulator, startSimulator } from "../start.ts";
import { RawClient } from "./acp-client.fake.ts";

const run = promisify(execFile);

function pathOf(simulator: Simulator): string {
  if (simulator.cliPath === undefined) throw new Error("the CLI is not installed");
  return simulator.cliPath;
}

function start(simulator: Simulator, args: readonly string[] = ["acp"], env: Record<string, string> = {}): RawClient {
  return new RawClient(pathOf(simulator), args, { HOME: simulator.home, ...env });
}

describe("the CLI alone, signed in", () => {
  let simulator: Simulator;
  let client: RawClient;

  beforeAll(async () => {
    simulator = await startSimulator({ profile: "devin-cli", turn: { rate: "instant" } });
  });
  afterAll(async () => {
    await simulator.stop();
  });
  beforeEach(async () => {
    await simulator.setAgent({});
    client = start(simulator);
  });
  afterEach(async () => {
    await client[Symbol.asyncDispose]();
  });

  it("says who it is and what it can do", async () => {
    const { result } = await client.initialize();
    expect(result).toMatchObject({
      protocolVersion: 1,
      agentInfo: { name: "affogato", title: "Devin Agent", version: "3000.11.3" },
      agentCapabilities: { loadSession: true, promptCapabilities: { image: true, audio: false } },
      authMethods: [{ id: "devin-browser" }],
    });
    expect(Object.keys(result.agentCapabilities.sessionCapabilities)).toEqual([
      "list",
      "delete",
      "additionalDirectories",
    ]);
  });

  it("opens a session with modes and options, commands before the reply, and demands mcpServers", async () => {
    await client.initialize();
    const { result } = await client.call("session/new", { cwd: "/tmp", mcpServers: [] });
    expect(result.sessionId).toMatch(/^[a-z]+-[a-z]+$/);
    expect(result.modes).toMatchObject({ currentModeId: "accept-edits" });
    expect(result.configOptions.map((option: { category: string }) => option.category)).toEqual(["mode", "model"]);
    const kinds = client.messages.map((message) => message.params?.update.sessionUpdate ?? "reply");
    expect(kinds.indexOf("available_commands_update")).toBeLessThan(kinds.lastIndexOf("reply"));
    expect((await client.call("session/new", { cwd: "/tmp" })).error).toMatchObject({ code: -32602 });
  });

  it("pushes an answer, reports its usage, and counts the prompt with everything in it", async () => {
    const sessionId = await client.open();
    const { result } = await client.prompt(sessionId, "count to 5");
    expect(client.text()).toBe("1, 2, 3, 4, 5");
    expect(client.updates("agent_thought_chunk")).not.toHaveLength(0);
    expect(result).toMatchObject({ stopReason: "end_turn", usage: { outputTokens: expect.any(Number) } });
    expect(client.updates("usage_update")[0]).toMatchObject({
      size: 200_000,
      _meta: { outputTokens: expect.any(Number) },
    });
    const stopped = client.messages.find(({ method }) => method === "_cognition.ai/agent_stopped");
    expect(stopped?.params).toMatchObject({ sessionId, cause: "complete", stats: { modelLabel: "SWE-2 Medium" } });
    expect(simulator.prompts().filter((prompt) => prompt.sessionId === sessionId)).toMatchObject([
      { text: "count to 5", model: "swe-2-medium", mode: "accept-edits", agentType: "default", pid: client.child.pid },
    ]);
    const report = simulator.agentReport();
    expect(report.clients.at(-1)?.client).toEqual({ name: "millrace", version: "1" });
    const own = report.processes.find(({ pid }) => pid === client.child.pid);
    expect(own).toMatchObject({ arguments: ["acp"], running: true });
    expect(own?.environment["HOME"]).toBe(simulator.home);
    expect(own?.environment).not.toHaveProperty("PATH");
  });

  it("takes model and mode as options; set_model is never answered", async () => {
    const sessionId = await client.open();
    const silent = client.begin("session/set_model", { sessionId, modelId: "swe-2-max" });
    const set = await client.call("session/set_config_option", { sessionId, configId: "model", value: "swe-2-max" });
    expect(set.result.configOptions[1]).toMatchObject({ id: "model", currentValue: "swe-2-max" });
    await client.call("session/set_mode", { sessionId, modeId: "ask" });
    expect(client.updates("current_mode_update")).toMatchObject([{ currentModeId: "ask" }]);
    const wrong = await client.call("session/set_config_option", { sessionId, configId: "model", value: "adaptive" });
    expect(wrong.error).toMatchObject({ code: -32602 });
    await client.prompt(sessionId, "which model are you?");
    expect(client.text()).toContain("SWE-2 Max (swe-2-max)");
    expect(simulator.prompts().at(-1)).toMatchObject({ model: "swe-2-max", mode: "ask" });
    expect(client.messages.some((message) => message.id === silent)).toBe(false);
  });

  it("sends images to the model, and instructions in blocks of their own", async () => {
    const sessionId = await client.open();
    const blocks = [
      { type: "text", text: "Be brief." },
      { type: "image", mimeType: "image/png", data: "iVBORw0KGgo=" },
      { type: "text", text: "echo-prompt" },
    ];
    await client.call("session/prompt", { sessionId, prompt: blocks });
    expect(client.text()).toBe(
      "--- instructions ---\nBe brief.\n--- prompt ---\necho-prompt\n--- image image/png 12 ---",
    );
  });

  it("stores nothing before the first prompt; afterwards any process replays it, lists it and deletes it", async () => {
    const sessionId = await client.open("/tmp");
    await using other = start(simulator);
    await other.initialize();
    const load = { sessionId, cwd: "/tmp", mcpServers: [] };
    expect((await other.call("session/load", load)).error).toMatchObject({ code: -32016 });
    await client.prompt(sessionId, "echo: kept [[sim: tools=1]]");
    const { result } = await other.call("session/load", load);
    expect(result).toHaveProperty("configOptions");
    expect(other.updates("user_message_chunk").map((update) => update.content.text)).toEqual([
      "echo: kept [[sim: tools=1]]",
    ]);
    expect(other.text()).toBe("kept");
    expect(other.updates("tool_call_update")).toMatchObject([{ status: "completed" }]);
    const replayed = other.messages.findIndex(
      (message) => message.params?.update?.sessionUpdate === "agent_message_chunk",
    );
    expect(replayed).toBeLessThan(other.messages.findIndex((message) => message.result?.configOptions !== undefined));
    await other.prompt(sessionId, "echo-prompt");
    expect(other.text()).toContain("--- history assistant ---\nkept");
    const { result: list } = await other.call("session/list", {});
    expect(list.sessions).toContainEqual(expect.objectContaining({ sessionId, cwd: "/tmp", title: "echo: kept" }));
    expect((await other.call("session/delete", { sessionId })).result).toEqual({});
    expect((await other.call("session/load", load)).error).toMatchObject({ code: -32016 });
    expect(simulator.agentReport().deletes).toContain(sessionId);
  });

  it("cancels a turn, keeps what was said, and says so; an idle cancel too", async () => {
    const sessionId = await client.open();
    const id = client.begin("session/prompt", {
      sessionId,
      prompt: [{ type: "text", text: "echo: abcdef [[sim: hold-after=3]]" }],
    });
    await client.until(() => client.text() === "abc");
    client.notify("session/cancel", { sessionId });
    expect((await client.until((message) => message.id === id)).result).toEqual({ stopReason: "cancelled" });
    client.notify("session/cancel", { sessionId });
    const report = await simulator.untilAgent(
      ({ cancels }) => cancels.filter((cancel) => cancel.sessionId === sessionId).length === 2,
      patience(),
    );
    expect(report.cancels.slice(-2)).toEqual([
      { sessionId, idle: false },
      { sessionId, idle: true },
    ]);
    await client.until(({ method }) => method === "_cognition.ai/agent_stopped");
    await using other = start(simulator);
    await other.initialize();
    await other.call("session/load", { sessionId, cwd: "/tmp", mcpServers: [] });
    expect(other.text()).toBe("abc");
  });

  it("holds until it is released", async () => {
    const sessionId = await client.open();
    const id = client.begin("session/prompt", {
      sessionId,
      prompt: [{ type: "text", text: "echo: abcdef [[sim: hold-after=2]]" }],
    });
    await client.until(() => client.text() === "ab");
    await simulator.release();
    await client.until((message) => message.id === id);
    expect(client.text()).toBe("abcdef");
  });

  it("refuses a session that another live process runs", async () => {
    const sessionId = await client.open();
    client.begin("session/prompt", { sessionId, prompt: [{ type: "text", text: "echo: x [[sim: hold-after=0]]" }] });
    await simulator.untilAgent(({ prompts }) => prompts.some((prompt) => prompt.sessionId === sessionId), patience());
    await using other = start(simulator);
    await other.initialize();
    const { error } = await other.call("session/load", { sessionId, cwd: "/tmp", mcpServers: [] });
    expect(error).toMatchObject({ code: -32015 });
  });

  it("shows reads in every mode, and declines writes in ask mode without asking", async () => {
    const sessionId = await client.open();
    await client.call("session/set_mode", { sessionId, modeId: "ask" });
    await client.prompt(sessionId, "echo: done [[sim: tools=1 writes=1]]");
    expect(client.updates("tool_call").map((update) => update.kind)).toEqual(["read", "edit"]);
    expect(client.updates("tool_call_update").map((update) => update.status)).toEqual(["completed", "failed"]);
    expect(client.messages.some(({ method }) => method === "session/request_permission")).toBe(false);
    expect(client.text()).toBe("done");
  });

  it("asks for permission with five choices, and again after each rejection", async () => {
    await simulator.setAgent({ askAgain: 2 });
    client.onRequest = ({ method }) =>
      method === "session/request_permission"
        ? { result: { outcome: { outcome: "selected", optionId: "reject_once" } } }
        : { error: { code: -32601, message: "no" } };
    const sessionId = await client.open();
    await client.prompt(sessionId, "echo: done [[sim: writes=1 diagnostics]]");
    const asked = client.messages.filter(({ method }) => method === "session/request_permission");
    expect(asked).toHaveLength(3);
    expect(asked[0]?.params.options.map((option: { optionId: string }) => option.optionId)).toEqual([
      "allow_once",
      "allow_session",
      "allow_always",
      "switch_bypass",
      "reject_once",
    ]);
    const report = simulator.agentReport();
    expect(report.permissions.filter((one) => one.sessionId === sessionId).map((one) => one.outcome)).toEqual([
      "reject_once",
      "reject_once",
      "reject_once",
    ]);
    expect(report.diagnostics.at(-1)).toBe(false);
  });

  it("reports a compaction as a separate message that is no part of the answer", async () => {
    const sessionId = await client.open();
    await client.prompt(sessionId, "echo: abc [[sim: compaction checkpoint-after=2]]");
    const own = client.updates("agent_message_chunk").filter((update) => update._meta !== undefined);
    expect(own.map((update) => update._meta)).toEqual([
      { "cognition.ai/displayMessage": true },
      { "cognition.ai/displayMessage": true },
    ]);
    expect(client.text()).toBe("abc");
  });

  it.each([
    ["quota", -32011, "Your daily usage quota has been exhausted", "quota_exhausted", true],
    ["content_policy", -32017, "Your request was blocked", "content_filter", false],
    ["internal", -32013, "an internal error occurred", "internal", true],
    ["no_key", -32000, "api_key not set", "auth_required", false],
  ])("fails with %s by the vendor's code", async (name, code, text, kind, retryable) => {
    const sessionId = await client.open();
    const { error } = await client.prompt(sessionId, `echo: abcdef [[sim: error=${name} error-after=3]]`);
    expect(error).toMatchObject({
      code,
      message: expect.stringContaining(text),
      data: { "cognition.ai/errorKind": kind, "cognition.ai/retryable": retryable },
    });
    expect(client.text()).toBe("abc");
  });

  it("lets a directive set the stop reason, and names a directive that it does not understand", async () => {
    const sessionId = await client.open();
    const { result } = await client.prompt(sessionId, "echo: x [[sim: stop-reason=max_tokens]]");
    expect(result.stopReason).toBe("max_tokens");
    const { error } = await client.prompt(sessionId, "echo: x [[sim: stop-raison=refusal]]");
    expect(error?.message).toContain("stop-raison");
  });

  it("plays the role of the summarizer: no tools, no model option, and a summary if it is set to", async () => {
    await simulator.setAgent({ summarizer: "unframed" });
    await using summarizer = start(simulator, ["acp", "--agent-type", "summarizer", "--model", "claude-opus-5-high"]);
    await summarizer.initialize();
    const { result } = await summarizer.call("session/new", { cwd: "/tmp", mcpServers: [] });
    expect(result.configOptions.map((option: { id: string }) => option.id)).toEqual(["mode"]);
    await summarizer.prompt(result.sessionId, "count to 3 [[sim: tools=2 writes=1]]");
    expect(summarizer.text()).toMatch(/^Summary: the user asked/);
    expect(summarizer.updates("tool_call")).toEqual([]);
    expect(simulator.prompts().at(-1)).toMatchObject({ agentType: "summarizer", model: "claude-opus-5-high" });
    await summarizer.prompt(result.sessionId, "This is an execution trace to carry on.\ncount to 3");
    expect(summarizer.text()).toContain("1, 2, 3");
  });

  it.each([
    ["before-store", false],
    ["after-store", true],
    ["mid-answer", true],
    ["before-reply", true],
    ["after-reply", true],
  ] as const)("dies at %s, once, and leaves on disk what it had stored", async (point, stored) => {
    await simulator.setAgent({ faults: [{ method: "session/prompt", times: 1, crash: point }] });
    const sessionId = await client.open();
    client.begin("session/prompt", { sessionId, prompt: [{ type: "text", text: "echo: abcdef" }] });
    await client.exited;
    expect(client.child.signalCode).toBe("SIGKILL");
    expect(simulator.prompts().some((prompt) => prompt.sessionId === sessionId)).toBe(stored);
    await using next = start(simulator);
    await next.initialize();
    const loaded = await next.call("session/load", { sessionId, cwd: "/tmp", mcpServers: [] });
    expect(loaded.error?.code).toBe(stored ? undefined : -32016);
    const texts = {
      "before-store": "",
      "after-store": "",
      "mid-answer": "a",
      "before-reply": "abcdef",
      "after-reply": "abcdef",
    };
    expect(next.text()).toBe(texts[point]);
    const again = await next.open();
    expect((await next.prompt(again, "echo: again")).result).toMatchObject({ stopReason: "end_turn" });
  });

  it.each([
    ["before-store", 0, false],
    ["before-reply", 1, false],
    ["after-reply", 1, true],
  ] as const)("dies around session/new at %s", async (point, sessions, replied) => {
    const before = simulator.agentReport().sessions.length;
    await simulator.setAgent({ faults: [{ method: "session/new", times: 1, crash: point }] });
    await client.initialize();
    const id = client.begin("session/new", { cwd: "/tmp", mcpServers: [] });
    await client.exited;
    expect(simulator.agentReport().sessions).toHaveLength(before + sessions);
    expect(client.messages.some((message) => message.id === id)).toBe(replied);
  });

  it("fails, delays and hangs calls by faults, counted over processes", async () => {
    await simulator.setAgent({
      faults: [
        { method: "session/new", times: 1, error: { code: -32010, message: "Service unavailable" } },
        { method: "session/list", hang: true },
      ],
    });
    await client.initialize();
    const { error } = await client.call("session/new", { cwd: "/tmp", mcpServers: [] });
    expect(error).toEqual({ code: -32010, message: "Service unavailable" });
    const hanging = client.begin("session/list", {});
    await using other = start(simulator);
    expect(await other.open()).toMatch(/-/);
    expect(client.messages.some((message) => message.id === hanging)).toBe(false);
  });

  it("writes noise on both outputs if it is set to, and starts slowly", async () => {
    await simulator.setAgent({ stdoutNoise: true, stderrNoise: true, startMs: 30 });
    await using noisy = start(simulator);
    const sessionId = await noisy.open();
    await noisy.prompt(sessionId, "echo: abc");
    expect(noisy.text()).toBe("abc");
    expect(noisy.noise).toEqual(expect.arrayContaining(["{ not json", "[telemetry] flushed"]));
    expect(noisy.stderr).toContain("affogato");
  });

  it("accepts only one client name if it is set to", async () => {
    await simulator.setAgent({ clientName: "windsurf" });
    await client.initialize();
    expect((await client.call("session/new", { cwd: "/tmp", mcpServers: [] })).error).toMatchObject({ code: -32000 });
    await using other = start(simulator);
    await other.initialize("windsurf");
    expect((await other.call("session/new", { cwd: "/tmp", mcpServers: [] })).error).toBeUndefined();
  });

  it("cancels the prompt after a cancel if it is set to", async () => {
    await simulator.setAgent({ cancelsNext: true });
    const sessionId = await client.open();
    client.notify("session/cancel", { sessionId });
    expect((await client.prompt(sessionId, "echo: one")).result).toEqual({ stopReason: "cancelled" });
    await client.prompt(sessionId, "echo: two");
    expect(client.text()).toBe("two");
  });

  it("refuses what it does not know", async () => {
    await client.initialize();
    expect((await client.call("session/fork", {})).error).toMatchObject({ code: -32601 });
    expect((await client.call("session/prompt", { sessionId: "no-such", prompt: [] })).error).toMatchObject({
      code: -32016,
    });
  });

  it("ends when its client closes the pipe", async () => {
    await client.open();
    await client.end();
    expect(client.child.exitCode).toBe(0);
  });

  it("answers its other commands", async () => {
    const env = { HOME: simulator.home };
    expect((await run(pathOf(simulator), ["--version"], { env })).stdout).toBe("devin 3000.11.3\n");
    expect((await run(pathOf(simulator), ["auth", "status"], { env })).stdout).toMatch(/^Logged in/);
    const { families } = JSON.parse(
      (await run(pathOf(simulator), ["models", "list", "--format", "json"], { env })).stdout,
    );
    const ids = families.flatMap((family: { variants: { model_uid: string }[] }) =>
      family.variants.map((one) => one.model_uid),
    );
    expect(ids).toEqual(expect.arrayContaining(["swe-2-high", "adaptive"]));
    await simulator.setAgent({ authStatus: "logged-out" });
    expect((await run(pathOf(simulator), ["auth", "status"], { env })).stdout).toBe("Not logged in\n");
    await expect(run(pathOf(simulator), ["acp", "--agent-type", "no"], { env })).rejects.toMatchObject({ code: 2 });
  });

  it("drains the plan, and refuses what costs once it is used up", async () => {
    await simulator.setPlan({ used: 100, usedWeekly: 0 });
    const sessionId = await client.open();
    const { error } = await client.prompt(sessionId, "echo: x");
    expect(error).toMatchObject({ code: -32011, data: { "cognition.ai/errorKind": "quota_exhausted" } });
    await client.call("session/set_config_option", { sessionId, configId: "model", value: "swe-1-6-slow" });
    expect((await client.prompt(sessionId, "echo: free")).result).toMatchObject({ stopReason: "end_turn" });
    await simulator.setPlan({ used: 0 });
  });
});

describe("a model of the caller's own", () => {
  it("answers over ACP as it streams, and reports its usage", async () => {
    const server = createServer((_, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      for (const content of ["Hello", " there"])
        response.write(`data: ${JSON.stringify({ choices: [{ delta: { content } }] })}\n\n`);
      const usage = { prompt_tokens: 11, completion_tokens: 2 };
      response.end(`data: ${JSON.stringify({ choices: [], usage })}\n\ndata: [DONE]\n\n`);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo; // it listens on a port
    try {
      await using simulator = await startSimulator({
        profile: "devin-cli",
        modelUrl: `http://127.0.0.1:${port}/v1`,
        turn: { rate: "instant" },
      });
      await using client = start(simulator);
      const { result } = await client.prompt(await client.open(), "hello");
      expect(client.updates("agent_message_chunk").map((update) => update.content.text)).toEqual(["Hello", " there"]);
      expect(result.usage).toMatchObject({ inputTokens: 11, outputTokens: 2 });
    } finally {
      server.close();
    }
  });
});

describe("an agent whose simulator is gone", () => {
  it("goes on by itself", async () => {
    const home = await mkdtemp(join(tmpdir(), "millrace-home-"));
    try {
      const simulator = await startSimulator({ profile: "devin-cli", home, turn: { rate: "instant" } });
      const path = pathOf(simulator);
      await simulator.stop();
      await using client = new RawClient(path, ["acp"], { HOME: home });
      await client.prompt(await client.open(), "echo: alone");
      expect(client.text()).toBe("alone");
    } finally {
      await rm(home, { recursive: true, force: true });
    }
  });
});

describe("signing in", () => {
  it("is refused if the host must authenticate, for any stored key", async () => {
    await using simulator = await startSimulator({ profile: "devin-cli" });
    await using client = start(simulator, ["acp"], { ACP_BACKEND: "windsurf" });
    await client.initialize();
    const { error } = await client.call("session/new", { cwd: "/tmp", mcpServers: [] });
    expect(error).toMatchObject({ code: -32000, message: "ACP host has not authenticated" });
  });

  it.each([
    ["new", -32000, undefined],
    ["prompt", undefined, -32000],
    ["prompt-internal", undefined, -32603],
  ] as const)("is missing at %s", async (loggedOut, atNew, atPrompt) => {
    await using simulator = await startSimulator({ profile: "devin-cli", signedOut: true, agent: { loggedOut } });
    expect(existsSync(join(simulator.layout.cliData, "credentials.toml"))).toBe(false);
    await using client = start(simulator);
    await client.initialize();
    const opened = await client.call("session/new", { cwd: "/tmp", mcpServers: [] });
    expect(opened.error?.code).toBe(atNew);
    const prompted = opened.result === undefined ? undefined : await client.prompt(opened.result.sessionId, "hi");
    expect(prompted?.error?.code).toBe(atPrompt);
    client.begin("authenticate", { methodId: "devin-browser" });
    await simulator.untilAgent(({ browserOpened }) => browserOpened === 1, patience());
    expect(simulator.prompts()).toEqual([]);
  });

  it("works with the key in the environment, and the report does not show it", async () => {
    await using simulator = await startSimulator({ profile: "devin-cli", signedOut: true, turn: { rate: "instant" } });
    await using client = start(simulator, ["acp"], { WINDSURF_API_KEY: simulator.apiKey.reveal() });
    const sessionId = await client.open();
    await client.prompt(sessionId, "echo: paid");
    expect(client.text()).toBe("paid");
    expect(simulator.agentReport().processes[0]?.environment["WINDSURF_API_KEY"]).toBe("[the account's]");
    await using other = start(simulator, ["acp"], { WINDSURF_API_KEY: "sk-ws-01-of-somebody" });
    await other.initialize();
    expect((await other.call("session/new", { cwd: "/tmp", mcpServers: [] })).error).toMatchObject({ code: -32000 });
  });
});
