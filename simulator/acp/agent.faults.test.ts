import { describe, expect, it } from "vitest";
import { patience } from "../rpc-client.fake.ts";
import type { Simulator } from "../start.ts";
import type { RawClient } from "./acp-client.fake.ts";
import { signedInCli, start } from "./signed-in-cli.fake.ts";

describe("the CLI alone, signed in", () => {
  let simulator: Simulator;
  let client: RawClient;
  signedInCli((cli) => ({ simulator, client } = cli));

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
    client.onRequest = ({ method }) =>
      method === "session/request_permission"
        ? { result: { outcome: { outcome: "selected", optionId: "reject_once" } } }
        : { error: { code: -32601, message: "no" } };
    const sessionId = await client.open();
    await client.prompt(sessionId, "echo: done [[sim: writes=1 diagnostics]]");
    const asked = client.messages.filter(({ method }) => method === "session/request_permission");
    expect(asked).toHaveLength(7);
    expect(asked[0]?.params.options.map((option: { optionId: string }) => option.optionId)).toEqual([
      "allow_once",
      "allow_session",
      "allow_always",
      "switch_bypass",
      "reject_once",
    ]);
    const report = simulator.agentReport();
    expect(report.permissions.filter((one) => one.sessionId === sessionId).map((one) => one.outcome)).toEqual(
      Array(7).fill("reject_once"),
    );
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
});
