import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { AgentPlan } from "../../src/backends/acp/scripted-plan.fake.ts";
import { processRuns } from "../../src/base/node/process-exists.ts";
import { millrace } from "../support/gateway-process.ts";
import { temporaryHome } from "../support/home.ts";
import { collect, gateway, openai } from "../support/world.ts";
import { ask, machine, scriptedHome } from "./acp-machine.ts";

/** A gateway whose user configured an agent that goes by this plan. `program`: the name of the script that starts it. */
async function configured(first: AgentPlan, entry = "", program = "scripted") {
  const { home, folder, plan, journal } = scriptedHome({ entry, program });
  plan(first);
  const served = await gateway({ home });
  const client = openai(served);
  const prompts = () => journal().filter(({ what }) => what === "accepted").length;
  const question = () => client.chat.completions.create(ask("Hello?", "fake/small"));
  return { home, folder, served, client, question, prompts, journal };
}

describe("an agent that its owner lets act", () => {
  it("is refused before anything is sent where no mode of its session is restrictive", async () => {
    const { question, prompts } = await configured({ modes: ["bypassPermissions", "acceptEdits"] });
    await expect(question()).rejects.toMatchObject({
      status: 403,
      message: expect.stringMatching(/"fake": it could act without asking.*allow_actions = true/s),
    });
    expect(prompts()).toBe(0);
  });

  it("is asked where its user allows that by name, and what it did is no failure", async () => {
    const file = join(temporaryHome(), "written.txt");
    const { question, journal } = await configured({ modes: ["yolo"], writes: file }, "allow_actions = true");
    expect((await question()).choices[0]?.message.content).toBe("Hello there, friend.");
    expect(existsSync(file)).toBe(true);
    expect(journal().some(({ what }) => what === "mode")).toBe(false);
  });

  it("is put into its most restrictive mode", async () => {
    const { question, journal } = await configured({ modes: ["full-access", "auto", "read-only"] });
    await question();
    expect(journal()).toContainEqual(expect.objectContaining({ what: "mode", value: "read-only" }));
  });

  it("gets a title before its prompt, so that it does not ask a model for one with its owner's permissions", async () => {
    const { question, journal } = await configured({ can: { title: true } });
    await question();
    const order = journal().map(({ what }) => what);
    expect(order).toContain("title");
    expect(order.indexOf("title")).toBeLessThan(order.indexOf("accepted"));
  });

  it("is refused before anything is sent where its version was not tried", async () => {
    const agentName = "@zed-industries/claude-code-acp";
    const plan = { agentName, agentVersion: "0.16.2", modes: ["plan", "read-only"] };
    const { question, prompts } = await configured(plan, "", "claude-code-acp");
    const message = expect.stringMatching(
      `it says that it is "${agentName} 0.16.2".*npm install -g @agentclientprotocol/claude-agent-acp@latest`,
    );
    await expect(question()).rejects.toMatchObject({ status: 403, message });
    expect(prompts()).toBe(0);
  });

  it("is used where it is newer than those that were tried, in the mode that it is known for", async () => {
    const plan = {
      agentName: "@agentclientprotocol/codex-acp",
      agentVersion: "100.0.0",
      modes: ["ask", "chat", "read-only"],
    };
    const { home, question, journal } = await configured(plan, "", "codex-acp");
    expect((await question()).choices[0]?.message.content).toBe("Hello there, friend.");
    expect(journal()).toContainEqual(expect.objectContaining({ what: "mode", value: "read-only" }));
    const says = "@agentclientprotocol/codex-acp 100.0.0, newer than tried (2.6.0)";
    for (const command of ["status", "doctor"])
      expect((await millrace([command], { home })).stdout.replaceAll(/\s+/g, " ")).toContain(says);
  });

  it("that writes in a restrictive mode all the same is reported as what it did", async () => {
    const file = join(temporaryHome(), "written.txt");
    const { question } = await configured({ writes: file });
    await expect(question()).rejects.toMatchObject({
      message: expect.stringMatching(
        /The agent "fake" changed a file: Write .*written\.txt\. Millrace could not prevent it/,
      ),
    });
    expect(existsSync(file)).toBe(true);
  });

  it("is reported in the same way where it is the vendor's", async () => {
    const { client, ide } = await machine({ profile: "devin-cli", agent: { acts: true }, turn: { writes: 1 } });
    await expect(client.chat.completions.create(ask("count to 7"))).rejects.toMatchObject({
      message: expect.stringContaining('The agent "devin" changed a file: Write '),
    });
    expect(ide.prompts()).toHaveLength(1);
  });

  it("works in an empty folder, and keeps its sign-in but not the settings of its owner", async () => {
    const { question, journal } = await configured({});
    await question();
    const start = journal().find(({ what }) => what === "start") as unknown as { readonly cwd: string };
    expect(readdirSync(start.cwd)).toEqual([]);
  });
});

describe("a text that looks like a command of the agent", () => {
  const tools = [{ type: "function" as const, function: { name: "step", parameters: { type: "object" } } }];
  const roles = { system: "system", user: "user", assistant: "assistant" } as const;
  const say = (role: keyof typeof roles, content: string) => ({ role: roles[role], content });

  it.each([
    ["a question behind blanks", [say("user", " \n\t/init now")]],
    ["a history", [say("user", "/init now"), say("assistant", "/init"), say("user", "/init again")]],
  ] as const)("is asked word for word, and runs nothing: %s", async (_, messages) => {
    const file = join(temporaryHome(), "ran");
    const { client, journal } = await configured({ commands: { init: `touch "${file}"` } });
    for (const more of [{}, { tools }]) {
      const request = { model: "fake/small", messages: [...messages], ...more };
      const answer = await client.chat.completions.create(request);
      expect(answer.choices[0]?.message.content).toBe("Hello there, friend.");
      const followed = [...messages, say("assistant", "Hello there, friend."), say("user", "/init once more")];
      await client.chat.completions.create({ ...request, messages: followed });
    }
    expect(existsSync(file)).toBe(false);
    const prompts = journal().flatMap((line) => ("text" in line ? [line.text] : []));
    expect(prompts).toHaveLength(4);
    expect(prompts.filter((text) => text.includes("/init now") || text.includes("/init once more"))).toHaveLength(4);
  });

  it("is answered by the vendor's agent, in each API", async () => {
    const { client, served } = await machine({ profile: "devin-cli" });
    const asked = "/var/log is full. Count to 4 please.";
    const answer = await client.chat.completions.create(ask(asked));
    expect(answer.choices[0]?.message.content).toMatch(/1.*4/s);
    const headers = { authorization: `Bearer ${served.key}`, "content-type": "application/json" };
    for (const [path, body] of [
      ["/v1/responses", { input: asked }],
      ["/v1/messages", { max_tokens: 100, messages: [say("user", asked)] }],
      ["/api/chat", { stream: false, messages: [say("user", asked)] }],
    ] as const) {
      const { model } = ask(asked);
      const response = await fetch(`${served.url}${path}`, {
        method: "POST",
        headers,
        body: JSON.stringify({ model, ...body }),
      });
      expect([path, response.status]).toEqual([path, 200]);
      expect(await response.text()).toMatch(/1.*4/s);
    }
  });
});

describe("an agent whose tools are taken away", () => {
  const step = (status: string) => ({
    sessionUpdate: "tool_call",
    toolCallId: "t",
    kind: "read",
    title: "Read key",
    status,
  });
  const plan: AgentPlan = { agentName: "gemini-cli", agentVersion: "0.61.0", modes: ["default", "plan"] };

  it("ends its turn by name where it uses one, a look too", async () => {
    const { question } = await configured({ ...plan, updates: [step("in_progress"), step("completed")] }, "", "gemini");
    await expect(question()).rejects.toMatchObject({
      message: expect.stringMatching(/The agent "fake" .*Read key.*stopped the turn/),
    });
  });

  it.each([
    ["a tool that it does not have", [step("pending"), step("failed")]],
    ["the shortening of its conversation", [{ ...step("completed"), kind: "think", title: "Compact conversation" }]],
  ])("goes on after %s", async (_, updates) => {
    const { question } = await configured({ ...plan, updates }, "", "gemini");
    expect((await question()).choices[0]?.message.content).toBe("Hello there, friend.");
  });

  it("is refused before anything is sent where it says that it is another one than its command", async () => {
    const { question, prompts, journal } = await configured({ agentName: "qwen-code" }, "", "opencode");
    await expect(question()).rejects.toMatchObject({
      status: 403,
      message: expect.stringMatching(/"fake": it says that it is ".*Start the agent by its own program/s),
    });
    expect(prompts()).toBe(0);
    expect(journal().some(({ what }) => what === "mode")).toBe(false);
  });
});

describe("an agent that does not keep to the protocol", () => {
  it("writes a line of two million levels: the turn ends by name", async () => {
    const { question } = await configured({ levels: 2_000_000 });
    await expect(question()).rejects.toMatchObject({ message: expect.stringContaining("output could not be read") });
  });

  it("asks for permission without end: the turn ends by name, and so does a process that goes on", async () => {
    const permission = { toolCall: { toolCallId: "p", title: "Look", kind: "other" }, options: [] };
    const { question, journal } = await configured({ permission, permissions: 10_000 });
    await expect(question()).rejects.toMatchObject({
      message: expect.stringContaining("asked for permission 20 times"),
    });
    const { pid } = journal().find(({ what }) => what === "start") as unknown as { readonly pid: number };
    await expect.poll(() => processRuns(pid), { timeout: 60_000 }).toBe(false); // it does not listen to the cancel
  });

  it("does not answer: the request fails within ten seconds or so, names it, and asks nothing", async () => {
    const { question, served, prompts } = await configured({ mumbles: "session/new" });
    await expect(question()).rejects.toMatchObject({
      message: expect.stringMatching(/The agent "fake" has not (?:answered|listed)/),
    });
    const headers = { authorization: `Bearer ${served.key}` };
    const models = () => timed(() => fetch(`${served.url}/v1/models`, { headers }));
    await models();
    const [again, health] = [await models(), await timed(() => fetch(`${served.url}/health`))];
    expect(again).toBeLessThan(2_000 + 20 * health); // it does not wait for the agent again
    expect(prompts()).toBe(0);
  });

  it("replies before the last half of its answer: the whole answer arrives", async () => {
    const { client, question } = await configured({ lateMs: 100 });
    expect((await question()).choices[0]?.message.content).toBe("Hello there, friend.");
    const stream = await client.chat.completions.create({ ...ask("And streamed?", "fake/small"), stream: true });
    expect(await collect(stream)).toEqual({ text: "Hello there, friend.", reason: "stop" });
  });

  it.each(["elicitation/create", "_session/elicitation"])(
    "asks its user by %s: the question is the answer, and the agent does not wait",
    async (asks) => {
      const { question, journal } = await configured({
        asks,
        asking: { message: "Which file do you mean?" },
        text: "",
      });
      expect((await question()).choices[0]?.message.content).toBe("Which file do you mean?");
      await expect
        .poll(journal)
        .toContainEqual(
          expect.objectContaining({ what: "asked", reply: expect.objectContaining({ action: "cancel" }) }),
        );
    },
  );

  it("is signed in while it runs: the next request gets a process of its own, and an answer", async () => {
    const { folder, question, journal } = await configured({ newError: { code: -32_000, message: "not signed in" } });
    await expect(question()).rejects.toMatchObject({ message: expect.stringContaining("not signed in") });
    writeFileSync(join(folder, "plan.json"), JSON.stringify({ text: "Now I can." }));
    expect((await question()).choices[0]?.message.content).toBe("Now I can.");
    expect(journal().filter(({ what }) => what === "start").length).toBeGreaterThan(1);
  });

  it.runIf(process.platform === "linux")("leaves no process behind, also one that left its group", async () => {
    const { folder, question, served } = await configured({ grandchild: true });
    await question();
    const pid = Number(readFileSync(join(folder, "grandchild"), "utf8"));
    expect(processRuns(pid)).toBe(true);
    await served.stop();
    await expect.poll(() => processRuns(pid), { timeout: 60_000 }).toBe(false);
  });
});

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}
