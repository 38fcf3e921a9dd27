import { expect, it } from "vitest";
import type { Simulator } from "../../simulator/index.ts";
import type { GatewayProcess } from "../support/gateway-process.ts";
import { bash } from "../support/tool-loop.ts";
import { ask, model, world } from "../support/world.ts";

it("hands calls on in each way that a model writes them, and says what it shortened of the tools", async () => {
  const { ide, served, client } = await world({ simulator: { turn: { rate: "instant" } } });
  for (const how of ["once", "trailing-comma", "truncated"]) {
    const { choices } = await client.chat.completions.create({ ...ask(`[[sim: agent=${how}]] Look.`), tools: [bash] });
    expect(choices[0]?.finish_reason).toBe("tool_calls");
  }
  const always = client.chat.completions.create({ ...ask("[[sim: agent=always-truncated]] Look."), tools: [bash] });
  await expect(always).rejects.toThrow(/asked twice/);
  await shortens(served, ide);
});

const example = "An example that a model can do without.";

/** The same request for a window that it does not fit whole, and for one that it does; counted as it is then sent. */
async function shortens(served: GatewayProcess, ide: Simulator) {
  const headers = { "x-api-key": served.key, "content-type": "application/json" };
  const post = (path: string, model: string) => {
    const description = `Runs a command.\n\n<example>${example.repeat(500)}</example>`;
    const body = {
      model,
      max_tokens: 50_000,
      system: "word ".repeat(111_000),
      messages: [{ role: "user", content: "Look." }],
      tools: [{ name: "bash", description, input_schema: bash.function.parameters }],
    };
    return fetch(`${served.url}${path}`, { method: "POST", headers, body: JSON.stringify(body) });
  };
  const sizes: number[] = [];
  for (const [name, compacted] of [
    [model, expect.stringMatching(/^tool-descriptions=\d+%$/)],
    ["gemini-3.1-pro:high", null],
  ] as const) {
    const counted = (await (await post("/v1/messages/count_tokens", name)).json()) as { input_tokens: number };
    const answer = await post("/v1/messages", name);
    expect([answer.status, answer.headers.get("x-millrace-compacted")]).toEqual([200, compacted]);
    const { usage } = (await answer.json()) as { usage: { input_tokens: number } };
    sizes.push(counted.input_tokens, usage.input_tokens);
    const { messages } = await ide.report();
    expect(JSON.stringify(messages.at(-1)).includes(example)).toBe(compacted === null);
  }
  expect(sizes[0]).toBeLessThan(150_000);
  expect(sizes[2]).toBeGreaterThan(150_000);
}

const submit = {
  type: "function",
  function: {
    name: "submit",
    parameters: {
      type: "object",
      properties: { summary: { type: "string", enum: ["Done"] } },
      required: ["summary"],
    },
  },
} as const;

/** What the stand-in's model does, line by line. */
const script = (...lines: string[]) => `[[agent\n${lines.join("\n")}\n]]`;

it("passes on a call that misses a finer rule of its schema, and never fails a turn for it", async () => {
  const { ide, client } = await world({ simulator: { turn: { rate: "instant" } } });
  const poor = 'call submit {"summary":"done"}';
  const prompts = async () => (await ide.report()).messages.length;
  for (const [lines, cost] of [
    [[poor], 2],
    [["say Let me see.", poor], 1],
    [['call bash {"command":"ls"}', poor], 1],
  ] as const) {
    const before = await prompts();
    const question = ask(`${script(...lines)} Work.`);
    const { choices } = await client.chat.completions.create({ ...question, tools: [bash, submit] });
    expect(choices[0]?.finish_reason).toBe("tool_calls");
    const calls = choices[0]?.message.tool_calls ?? [];
    expect(calls.map((call) => call.type === "function" && call.function.arguments)).toContain('{"summary":"done"}');
    expect((await prompts()) - before).toBe(cost);
  }
});

it("ends a turn with the call that was streamed, where another call of it stays broken", async () => {
  const { ide, client } = await world({ simulator: { turn: { rate: "instant" } } });
  const lines = ['call bash {"command":"ls"}', "spoil-always no-arguments submit"];
  const question = ask(`${script(...lines)} Work.`);
  const names: string[] = [];
  let reason: string | null = null;
  for await (const { choices } of await client.chat.completions.create({
    ...question,
    tools: [bash, submit],
    stream: true,
  })) {
    for (const call of choices[0]?.delta.tool_calls ?? []) names.push(call.function?.name ?? "");
    reason = choices[0]?.finish_reason ?? reason;
  }
  expect(reason).toBe("tool_calls");
  expect(names.filter((name) => name !== "")).toEqual(["bash"]);
  expect((await ide.report()).messages).toHaveLength(2);
});

const foreign = '{"action":"tool_call","tool_calls":[{"name":"rm","arguments":{}}]}';
const calls = '"tool_calls":[{"name":"bash","arguments":{"command":"ls"}}]';

it("takes the forms of call that other plugins ask for, and a tool that was not offered as text", async () => {
  const { client } = await world({ simulator: { turn: { rate: "instant" } } });
  const answers = await Promise.all(
    [
      script(`say {"action":"tool_call",${calls}}`),
      script(`say {${calls}}`),
      script('say {"action":"final","content":"Done."}'),
      script(`say ${foreign}`),
    ].map(async (asked) => {
      const question = ask(`${asked} Work.`);
      const { choices } = await client.chat.completions.create({ ...question, tools: [bash] });
      const { tool_calls: calls, content } = choices[0]?.message ?? {};
      return calls?.map((one) => one.type === "function" && one.function) ?? content;
    }),
  );
  const called = [{ name: "bash", arguments: '{"command":"ls"}' }];
  expect(answers).toEqual([called, called, "Done.", foreign]);
});
