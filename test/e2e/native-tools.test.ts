import { expect, it } from "vitest";
import { chatLoop, type LoopTool, loopApis, runLoop } from "../support/tool-loop.ts";
import { gateway, patienceMs, world } from "../support/world.ts";

/* A client's tools as the agent's own: one prompt lasts over all rounds of a loop, in every API. */

const parameters = { type: "object", properties: { command: { type: "string" } }, required: ["command"] };
const tool: LoopTool = { name: "bash", parameters };
const model = "swe-2:high";
const asked = { model, tool, question: "[[sim: agent=loop]] Look." };
const commands = ["echo millrace-1", "echo millrace-2", "echo millrace-3"].map((command) => ({ command }));
const text = "All done. The tools said: r1 | r2 | r3";

const open = (agent: object = {}, args: readonly string[] = []) =>
  world({ args, simulator: { profile: "devin-3", turn: { rate: "instant" }, agent } });

it.each(loopApis)("a loop over $name is one prompt of the agent", async (api) => {
  const { ide, served } = await open();
  const [first, second, third] = commands;
  expect(await runLoop(api, served, asked)).toEqual({ rounds: [[first, second], [third]], text, ways: ["native"] });
  expect(ide.prompts()).toHaveLength(1);
  expect(ide.prompts()[0]?.text).not.toContain("# Tools");
});

it("one prompt also where the agent asks for permission before each call, or makes the calls one by one", async () => {
  const { ide, served } = await open({ mcpPermission: true, mcpCalls: "one-by-one" });
  expect(await runLoop(chatLoop, served, asked)).toMatchObject({ rounds: commands.map((each) => [each]), text });
  expect(ide.prompts()).toHaveLength(1);
  expect(ide.agentReport().permissions.map(({ outcome }) => outcome)).toEqual([
    "allow_once",
    "allow_once",
    "allow_once",
  ]);
});

it("an agent that drops the server gets the tools in prose, from the first prompt on", async () => {
  const { ide, served } = await open({ stdioServers: false });
  expect(await runLoop(chatLoop, served, asked)).toMatchObject({ text, ways: ["prose"] });
  expect(ide.prompts()).toHaveLength(3);
  expect(ide.prompts()[0]?.text).toContain("# Tools");
});

it("an agent that used its own tools, and none of the client's, gets the tools in prose from the next prompt on", async () => {
  const { ide, served } = await open({ ownToolsFirst: true });
  await runLoop(chatLoop, served, asked);
  await runLoop(chatLoop, served, asked);
  expect(ide.prompts().map((prompt) => prompt.text.includes("# Tools"))).toEqual([false, true, false, false]); // told once
});

it("results beside a new message, and results with another history, are laid out anew, and the prompt that waits is cancelled", async () => {
  const { ide, served } = await open();
  const question = { role: "user", content: asked.question };
  const round = async (messages: readonly object[], more: readonly object[]) => {
    const { calls, messages: answer } = await chatLoop.ask(served, model, [question], tool);
    const results = chatLoop.results(calls.map(({ id }, n) => ({ id, text: `r${n + 1}` })));
    await chatLoop.ask(served, model, [...messages, ...answer, ...results, ...more], tool);
  };
  await round([question], [{ role: "user", content: "And quickly." }]);
  expect(ide.prompts()).toHaveLength(2);
  await round([{ ...question, content: `${asked.question} Quickly.` }], []);
  expect(ide.prompts()).toHaveLength(4);
  await expect.poll(() => ide.agentReport().cancels.length).toBe(2);
});

it("the same results sent twice answer the agent once", async () => {
  const { ide, client, served } = await open();
  const question = { role: "user", content: asked.question };
  const { calls, messages } = await chatLoop.ask(served, model, [question], tool);
  const results = chatLoop.results(calls.map(({ id }, n) => ({ id, text: `r${n + 1}` })));
  const body = { model, messages: [question, ...messages, ...results], tools: [{ type: "function", function: tool }] };
  const headers = { "idempotency-key": "results" };
  const twice = await Promise.all(
    [1, 2].map(() => client.chat.completions.create(body as never, { headers }).then(({ choices }) => choices[0])),
  );
  expect(twice[0]?.message.tool_calls).toHaveLength(1);
  expect(twice[1]).toEqual(twice[0]);
  expect(ide.prompts()).toHaveLength(1);
});

it("a gateway killed before the agent calls its tools: the next one gets the calls of the same prompt, and goes on with it", async () => {
  const { home, ide, served } = await open({}, []);
  const question = { role: "user", content: `${asked.question} [[sim: first-ms=3000 think-ms=3000]]` };
  const lost = chatLoop.ask(served, model, [question], tool).catch(() => "lost");
  await ide.untilAgent(({ prompts }) => prompts.length === 1, AbortSignal.timeout(patienceMs));
  await served.kill();
  expect(await lost).toBe("lost");
  const next = await gateway({ home });
  const { calls, messages } = await chatLoop.ask(next, model, [question], tool);
  expect(calls.map(({ args }) => args)).toEqual(commands.slice(0, 2));
  const results = chatLoop.results(calls.map(({ id }, n) => ({ id, text: `r${n + 1}` })));
  const { calls: more } = await chatLoop.ask(next, model, [question, ...messages, ...results], tool);
  expect(more.map(({ args }) => args)).toEqual(commands.slice(2));
  expect(ide.prompts()).toHaveLength(1);
});

it.each(["killed", "stopped"] as const)(
  "a loop goes on after its gateway was %s between a call and its result, each time, and is one prompt, or one more for each kill",
  async (how) => {
    const { home, ide, served } = await open();
    let current = served;
    const next = async () => {
      await (how === "killed" ? current.kill() : current.stop());
      current = await gateway({ home });
    };
    const question = { role: "user", content: asked.question };
    const first = await chatLoop.ask(current, model, [question], tool);
    await next();
    const results = chatLoop.results(first.calls.map(({ id }, n) => ({ id, text: `r${n + 1}` })));
    const history = [question, ...first.messages, ...results];
    const second = await chatLoop.ask(current, model, history, tool);
    await next();
    const last = chatLoop.results(second.calls.map(({ id }) => ({ id, text: "r3" })));
    const third = await chatLoop.ask(current, model, [...history, ...second.messages, ...last], tool);
    expect(third.text).toBe(text);
    const most = how === "killed" ? 3 : 1;
    expect(ide.prompts().length).toBeLessThanOrEqual(most);
    expect(ide.agentReport().cancels.length).toBeLessThan(most);
  },
);
