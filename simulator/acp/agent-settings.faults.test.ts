import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import type { Simulator } from "../start.ts";
import type { RawClient } from "./acp-client.fake.ts";
import { pathOf, signedInCli, start } from "./signed-in-cli.fake.ts";

const run = promisify(execFile);

describe("the CLI alone, with directives, faults and settings", () => {
  let simulator: Simulator;
  let client: RawClient;
  signedInCli((cli) => ({ simulator, client } = cli));

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

  it("accepts only one client name if it is set to", async () => {
    await simulator.setAgent({ clientName: "windsurf" });
    await client.initialize();
    expect((await client.call("session/new", { cwd: "/tmp", mcpServers: [] })).error).toMatchObject({ code: -32000 });
    await using other = start(simulator);
    await other.initialize("windsurf");
    expect((await other.call("session/new", { cwd: "/tmp", mcpServers: [] })).error).toBeUndefined();
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

  it("refuses a type of agent that it does not have", async () => {
    const env = { HOME: simulator.home };
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
