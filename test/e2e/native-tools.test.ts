import { expect, it } from "vitest";
import { rawClient, say } from "../../src/gateway/streams/raw-client.fake.ts";
import { headersOf, newNames } from "../../src/gateway/streams/stream-world.fake.ts";
import type { GatewayProcess } from "../support/gateway-process.ts";
import {
  agentLoop,
  callsOneByOne,
  chatLoop,
  type LoopApi,
  type LoopTool,
  loopApis,
  runLoop,
} from "../support/tool-loop.ts";
import { sharedWorld, world } from "../support/world.ts";

/* A client's tools as the agent's own: one prompt lasts over all rounds of a loop, in every API. */

const { model, tool, commands, text } = agentLoop;
const asked = { model, tool, question: agentLoop.question };

const simulator = { profile: "devin-3", turn: { rate: "instant" } } as const;

const shared = sharedWorld([], { simulator });
let tests = 0;

/** The usual agent, which these tests share: a question of this test's own, and what the agent got since the test began. */
function usual() {
  const { ide, served, client } = shared();
  const [prompts, cancels] = [ide.prompts().length, ide.agentReport().cancels.length];
  return {
    served,
    client,
    asked: { ...asked, question: `${asked.question} Test ${++tests}.` },
    prompts: () => ide.prompts().slice(prompts),
    cancels: () => ide.agentReport().cancels.slice(cancels),
  };
}

/** An agent of this test's own. */
const open = (agent: object, args: readonly string[] = []) => world({ args, simulator: { ...simulator, agent } });

/** A loop's first round, answered: its question, and the history with the results `r1`, `r2`. */
async function firstRound(api: LoopApi, served: GatewayProcess, content: string) {
  const question = { role: "user", content };
  const { calls, messages } = await api.ask(served, model, [question], tool);
  const results = api.results(calls.map(({ id }, n) => ({ id, text: `r${n + 1}` })));
  return { question, answered: [...messages, ...results], history: [question, ...messages, ...results] };
}

it.each([...loopApis, callsOneByOne()])("a loop over $name is one prompt of the agent", async (api) => {
  const { served, asked, prompts } = usual();
  const { rounds, ...loop } = await runLoop(api, served, asked);
  expect({ ...loop, calls: rounds.flat() }).toEqual({ calls: commands, text, ways: ["native"] });
  expect(prompts()).toHaveLength(1);
  expect(prompts()[0]?.text).not.toContain("# Tools");
});

it("calls that come back one by one go on in the conversation that made them, over the language server too", async () => {
  const { ide, served } = await world({ simulator: { turn: { rate: "instant" } } });
  const { rounds, text: said } = await runLoop(callsOneByOne(), served, { ...asked, model: "claude-sonnet-4.6" });
  expect({ rounds, said }).toEqual({ rounds: [commands.slice(0, 2), commands.slice(2)], said: text });
  expect((await ide.report()).cascades).toHaveLength(1);
});

it("a loop over the stream protocol is one stream, and one prompt of the agent", async () => {
  const { served, asked, prompts } = usual();
  const stream = rawClient(served).attach("bidi", headersOf(newNames()));
  const calls = () =>
    stream.chunks.flatMap(({ response }) => (response.case === "clientSideToolV2Call" ? [response.value] : []));
  stream.send(say.request(asked.question, 0, { model, tools: [tool.name], parameters: tool.parameters }));
  for (const [n] of commands.entries()) {
    await stream.until(() => calls().length > n);
    stream.send(say.result(calls()[n]?.toolCallId ?? "", `r${n + 1}`, n + 1));
  }
  expect(await stream.ended).toBeUndefined();
  expect(calls().map(({ rawArgs }) => JSON.parse(rawArgs) as object)).toEqual(commands);
  expect(stream.text).toBe(text);
  expect(prompts()).toHaveLength(1);
  expect(prompts()[0]?.text).not.toContain("# Tools");
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

it("with --tools prose an agent that takes tools gets them in prose", async () => {
  const { ide, served } = await open({}, ["--tools", "prose"]);
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

it("results beside a new message or with another history are laid out anew, and the prompt that waits is cancelled", async () => {
  const { served, asked, prompts, cancels } = usual();
  const first = await firstRound(chatLoop, served, asked.question);
  await chatLoop.ask(served, model, [...first.history, { role: "user", content: "And quickly." }], tool);
  expect(prompts()).toHaveLength(2);
  const second = await firstRound(chatLoop, served, asked.question);
  await chatLoop.ask(
    served,
    model,
    [{ ...second.question, content: `${asked.question} Quickly.` }, ...second.answered],
    tool,
  );
  expect(prompts()).toHaveLength(4);
  await expect.poll(() => cancels().length).toBe(2);
});

it.each([
  ["that lists its tools again goes on with its prompt, and may call a new one", true, 1],
  ["that lists its tools once gets the whole history in a new prompt", false, 2],
])("with other tools in the middle of a loop, an agent %s", async (_, mcpListsAgain, prompts) => {
  const { ide, served } = await open({ mcpListsAgain });
  const shell: LoopTool = { ...tool, name: "shell" };
  const { history } = await firstRound(chatLoop, served, asked.question);
  const more = await chatLoop.ask(served, model, history, shell);
  expect(JSON.stringify(more.messages)).toContain('"name":"shell"');
  expect(ide.prompts()).toHaveLength(prompts);
  await expect.poll(() => ide.agentReport().cancels.length).toBe(prompts - 1);
});

it("the same results sent twice with a key answer the agent once", async () => {
  const { client, served, asked, prompts } = usual();
  const { history } = await firstRound(chatLoop, served, asked.question);
  const body = { model, messages: history, tools: [{ type: "function", function: tool }] };
  const headers = { "idempotency-key": "results" };
  const twice = await Promise.all(
    [1, 2].map(() => client.chat.completions.create(body as never, { headers }).then(({ choices }) => choices[0])),
  );
  expect(twice[0]?.message.tool_calls).toHaveLength(1);
  expect(twice[1]).toEqual(twice[0]);
  expect(prompts()).toHaveLength(1);
});

it.each(loopApis)(
  "the same results sent twice over $name, without a key, join one turn and answer the agent once",
  async (api) => {
    const { served, asked, prompts } = usual();
    const { history } = await firstRound(api, served, `${asked.question} [[sim: first-ms=500]]`);
    const twice = await Promise.all([1, 2].map(() => api.ask(served, model, history, tool)));
    expect(twice[0]?.calls).toHaveLength(1);
    expect(twice[1]?.calls).toEqual(twice[0]?.calls);
    expect(prompts()).toHaveLength(1);
  },
);

it("results whose connection broke join the turn that they began", async () => {
  const { served, asked, prompts } = usual();
  const { history } = await firstRound(chatLoop, served, `${asked.question} [[sim: first-ms=500]]`);
  const leave = new AbortController();
  const body = JSON.stringify({ model, messages: history, tools: [{ type: "function", function: tool }] });
  const headers = { authorization: `Bearer ${served.key}`, "content-type": "application/json" };
  const url = `${served.url}/v1/chat/completions`;
  const broken = fetch(url, { method: "POST", headers, body, signal: leave.signal });
  const rest = chatLoop.ask(served, model, history, tool);
  leave.abort();
  await expect(broken).rejects.toMatchObject({ name: "AbortError" });
  expect((await rest).calls).toHaveLength(1);
  expect(prompts()).toHaveLength(1);
});

it("the same results sent again without a key after their answer go into a new prompt, and the one that went on is not cancelled", async () => {
  const { served, asked, prompts, cancels } = usual();
  const { history } = await firstRound(chatLoop, served, asked.question);
  const again = () => chatLoop.ask(served, model, history, tool);
  const first = await again();
  expect(prompts()).toHaveLength(1);
  expect((await again()).calls[0]?.id).not.toBe(first.calls[0]?.id);
  expect(prompts()).toHaveLength(2);
  expect(cancels()).toEqual([]);
});
