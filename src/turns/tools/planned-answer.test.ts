import { describe, expect, it } from "vitest";
import { bash, user } from "../prompt/request.fake.ts";
import { bad, call, good, told, unusable } from "./planned-answer.fake.ts";
import { ScriptedBackend, scriptedCascade } from "./scripted-backend.fake.ts";

describe("a backend whose answers are read by a plan", () => {
  it("turns calls into events and says that the turn ended for them", async () => {
    const backend = new ScriptedBackend(`Looking.\n\n${good}`);
    const { calls, last, text, asked } = await told(backend, {});
    expect(text).toBe("Looking.");
    expect(calls).toEqual([{ callId: "call_seed_1", name: "bash", arguments: '{"command":"ls"}', done: true }]);
    expect(last).toEqual({
      type: "finished",
      reason: { unified: "tool_calls", raw: "NO_TOOL_CALL" },
      text: "Looking.",
    });
    expect(asked).toBe(1);
  });

  it("sends a call whole, once it was checked", async () => {
    const { events } = await told(new ScriptedBackend(call(`{"command":"${"x".repeat(100)}"}`)), {});
    expect(events.filter((event) => event.type === "tool_call")).toMatchObject([{ done: true }]);
  });

  it("reads a long text in pieces, and other work goes on between them", async () => {
    let rounds = 0;
    const count = () => {
      rounds++;
      round = setImmediate(count);
    };
    let round = setImmediate(count);
    const delta = "{\n".repeat(100_000);
    const finished = { type: "finished", reason: { unified: "stop", raw: undefined }, text: delta } as const;
    const { text } = await told(new ScriptedBackend([{ type: "text", delta }, finished]), {});
    clearImmediate(round);
    expect(text).toBe(delta);
    expect(rounds).toBeGreaterThan(5);
  });

  it.each([
    ['<tool_call name="bash">\n{"command":"ls"}\n</tool_ca', ""],
    ['<function_call name="bash">{"command":"ls"}</function_cal', ""],
    ['<invoke name="bash"><parameter name="command">ls</parameter></invo', ""],
    ['<x:invoke name="bash"><x:parameter name="command">ls</x:parameter></x:inv', ""],
    ['<function=bash>{"command":"ls"}</func', ""],
    ['<bash>{"command":"ls"}</ba', ""],
    ['<tool_calls>\n<tool_call name="bash">{"command":"ls"}</tool_call>\n</tool_cal', ""],
    [`${good}\n</tool_ca`, ""],
    [`${good}</func`, ""],
  ])("ends a call whose closing tag is cut, and leaves none of it as text: %j", async (answer, said) => {
    const { text, calls } = await told(new ScriptedBackend(answer), {});
    expect(text.trim()).toBe(said);
    expect(calls.map(({ arguments: given }) => given)).toEqual(['{"command":"ls"}']);
  });

  it.each(["Hello.\n</tool_ca", "A tag ends with </", "<b>bold</", "`<tool_call>` begins it, and it ends </tool_c"])(
    "adds nothing to a text without a call: %j",
    async (answer) => {
      const { text, calls } = await told(new ScriptedBackend(answer), {});
      expect([text, calls]).toEqual([answer, []]);
    },
  );

  it("gives a quoted block that is cut off as text, and does not ask about it", async () => {
    const file = `Call it so:\n<tool_call>\n<name>bash</name>\n<arguments>{"command":"rm -rf build"}</arguments>\n</tool_call>`;
    for (const shown of [file, file.replace(/^/gm, "12 │ ")]) {
      const cut = file.slice(0, -31);
      const backend = new ScriptedBackend(cut, "The second answer.");
      const { text, last } = await told(backend, { messages: [user(shown)] });
      expect(text).toBe(cut);
      expect(last).toMatchObject({ type: "finished", reason: { unified: "stop" } });
    }
  });

  it("keeps the arguments as the model wrote them, to the last digit", async () => {
    const body = '{ "path" : "a", "offset" : 12345678901234567890 }';
    const { calls } = await told(new ScriptedBackend(call(body, "read_file")), {});
    expect(calls[0]?.arguments).toBe(body);
  });

  it("asks once more on the same trajectory, and sends the corrected call", async () => {
    const backend = new ScriptedBackend(`Looking.\n${bad}`, `Sorry!\n${good}`);
    const { calls, text, last, asked, events } = await told(backend, {});
    expect(backend.prompts).toHaveLength(2);
    expect(backend.prompts[1]).toMatchObject({ continues: scriptedCascade, images: [] });
    expect(backend.prompts[1]?.text).toContain("must have required property 'command'");
    expect(backend.prompts[1]?.messages.slice(-2).map(({ role }) => role)).toEqual(["assistant", "user"]);
    expect(backend.options.every(({ keep }) => keep)).toBe(true);
    expect(text).toBe("Looking.");
    expect(calls).toMatchObject([{ name: "bash", arguments: '{"command":"ls"}', done: true }]);
    expect(last).toMatchObject({ type: "finished", reason: { unified: "tool_calls" } });
    expect(asked).toBe(2);
    expect(events.filter(({ type }) => type === "started")).toHaveLength(1);
    expect(events.find(({ type }) => type === "usage")).toMatchObject({ promptTokens: 20, completionTokens: 10 });
  });

  it("sends nothing of a call that is corrected", async () => {
    const backend = new ScriptedBackend(
      call('{"command":"ls -la","timeoutMs":[]}'),
      call('{"command":"ls -la","timeoutMs":3}'),
    );
    const { calls } = await told(backend, {});
    expect(calls).toHaveLength(1);
    expect(calls[0]).toMatchObject({ callId: "call_seed_1", done: true });
    expect(JSON.parse(calls[0]?.arguments ?? "")).toEqual({ command: "ls -la", timeoutMs: 3 });
  });

  it.each([
    ["is no better", bad, '{"timeoutMs":5}'],
    ["is wrong in another way", call('{ "cmd": 2512292042121000001 }'), '{ "cmd": 2512292042121000001 }'],
    ["is prose", "Never mind.", '{"timeoutMs":5}'],
    ["cannot be read", unusable, '{"timeoutMs":5}'],
  ])(
    "hands out the wrong call as it is when the second answer %s: the client tells the model",
    async (_, again, args) => {
      const backend = new ScriptedBackend(bad, again);
      const { last, calls } = await told(backend, {});
      expect(backend.prompts).toHaveLength(2);
      expect(calls).toEqual([{ callId: "call_seed_1", name: "bash", arguments: args, done: true }]);
      expect(last).toMatchObject({ type: "finished", reason: { unified: "tool_calls" } });
    },
  );

  it("hands out all wrong calls of a second answer, or one where the client takes one", async () => {
    const both = `${bad}\n${call('{"timeoutMs":6}')}`;
    const { calls } = await told(new ScriptedBackend(bad, both), {});
    expect(calls.map((one) => one.arguments)).toEqual(['{"timeoutMs":5}', '{"timeoutMs":6}']);
    const one = await told(new ScriptedBackend(bad, both), { parallelToolCalls: false });
    expect(one.calls).toHaveLength(1);
  });

  it("fails clearly when neither answer has a call that can be read, and runs nothing", async () => {
    const { last, calls, asked } = await told(new ScriptedBackend(unusable, unusable), {});
    expect(calls).toEqual([]);
    expect(last).toMatchObject({
      type: "failed",
      error: { code: "upstream_failed", message: expect.stringContaining("must be an object") },
    });
    expect(asked).toBe(2);
  });

  it("keeps the good calls of an answer that has a bad one", async () => {
    const backend = new ScriptedBackend(`${good}\n${bad}`, call('{"command":"pwd"}'));
    const { calls, asked } = await told(backend, {});
    expect(calls.map((one) => one.arguments)).toEqual(['{"command":"ls"}', '{"command":"pwd"}']);
    expect(new Set(calls.map(({ callId }) => callId)).size).toBe(2);
    expect(asked).toBe(2);
    expect(backend.prompts[1]?.text).toContain("other calls were accepted");
  });

  it("asks again for a call that was required and did not come", async () => {
    const backend = new ScriptedBackend("I would rather talk.", good);
    const { calls, last } = await told(backend, { toolChoice: { type: "required" } });
    expect(calls).toHaveLength(1);
    expect(last).toMatchObject({ type: "finished", reason: { unified: "tool_calls" } });
  });

  it("gives the client its own tool name back, and the value of a schema that is no object", async () => {
    const odd = { ...bash, name: "what's this?", parameters: { type: "array", items: { type: "integer" } } };
    const { calls } = await told(new ScriptedBackend(call('{"value":[1,"2"]}', "what_s_this_")), { tools: [odd] });
    expect(calls).toMatchObject([{ name: "what's this?", arguments: "[1,2]", done: true }]);
  });

  it("takes arguments out of a wrapper, and leaves an object alone in a tool that takes any members", async () => {
    const any = {
      ...bash,
      name: "set_state",
      parameters: { type: "object", properties: {}, additionalProperties: true },
    };
    const given = async (tool: typeof bash, body: string) =>
      (await told(new ScriptedBackend(call(body, tool.name)), { tools: [tool] })).calls.map((made) => made.arguments);
    expect(await given(bash, '{"value":{"command":"ls","more":1}}')).toEqual(['{"command":"ls","more":1}']);
    expect(await given(any, '{"input":{"a":1}}')).toEqual(['{"input":{"a":1}}']);
  });

  it("ends a turn that was cut off at its length as cut off, without asking again", async () => {
    const text = call('{"command":"ls -l').split("\n").slice(0, 2).join("\n");
    const backend = new ScriptedBackend([
      { type: "text", delta: text },
      { type: "finished", reason: { unified: "length", raw: "MAX" }, text },
    ]);
    const { calls, last } = await told(backend, {});
    expect(backend.prompts).toHaveLength(1);
    expect(calls).toMatchObject([{ arguments: '{"command":"ls -l', done: false }]);
    expect(last).toMatchObject({ type: "finished", reason: { unified: "length" } });
  });

  it("reads the answer again when the upstream rewrote it", async () => {
    const first = `One momemt.\n${call('{"command":"ls')}`.slice(0, -13);
    const final = `One moment.\n${good}`;
    const backend = new ScriptedBackend([
      { type: "text", delta: first },
      { type: "rewritten", text: final },
      { type: "finished", reason: { unified: "stop", raw: undefined }, text: final },
    ]);
    const { text, calls, events } = await told(backend, {});
    expect(text).toBe("One moment.");
    expect(calls).toEqual([{ callId: "call_seed_1", name: "bash", arguments: '{"command":"ls"}', done: true }]);
    expect(events.filter(({ type }) => type === "rewritten")).toHaveLength(1);
  });

  it("fails when the upstream rewrote a call that readers already have", async () => {
    const final = call('{"command":"pwd"}');
    const backend = new ScriptedBackend([
      { type: "text", delta: good },
      { type: "rewritten", text: final },
      { type: "finished", reason: { unified: "stop", raw: undefined }, text: final },
    ]);
    expect((await told(backend, {})).last).toMatchObject({
      type: "failed",
      error: { message: expect.stringContaining("changed a call") },
    });
  });

  it("archives the trajectory unless it is kept, and also a kept one when the turn failed", async () => {
    const cases = [
      { answers: [good], keep: false, archived: 1 },
      { answers: [good], keep: true, archived: 0 },
      { answers: [unusable, unusable], keep: true, archived: 1 },
    ];
    for (const { answers, keep, archived } of cases) {
      const backend = new ScriptedBackend(...answers);
      await told(backend, {}, { keep });
      expect(backend.archived).toHaveLength(archived);
    }
  });

  it("archives the trajectory of a resumed answer too, and always before the terminal event: a crash after that leaves nothing behind", async () => {
    for (const resume of [false, true]) {
      const backend = new ScriptedBackend(good);
      const archivedBefore: number[] = [];
      await told(backend, {}, { resume, onEvent: () => archivedBefore.push(backend.archived.length) });
      expect(archivedBefore.at(-1)).toBe(1);
      expect(backend.archived).toEqual([scriptedCascade]);
    }
  });

  it("reads a resumed answer from its start and does not ask again", async () => {
    const backend = new ScriptedBackend(bad);
    const { calls } = await told(backend, {}, { resume: true });
    expect(backend.prompts).toHaveLength(1);
    expect(calls).toMatchObject([{ arguments: '{"timeoutMs":5}', done: true }]);
    const again = await told(new ScriptedBackend(good), {}, { resume: true });
    expect(again.calls).toMatchObject([{ callId: "call_seed_1", done: true }]);
  });

  it("asks again for an answer that is only a summary, and shows the answer that comes then", async () => {
    const backend = new ScriptedBackend("<summary>\nThe user wants a list.\n</summary>", "There are two files.");
    const { text, last, asked } = await told(backend, {});
    expect(backend.prompts[1]?.text).toContain("without a <summary> tag");
    expect(text).toBe("There are two files.");
    expect(last).toMatchObject({ type: "finished", reason: { unified: "stop" }, text });
    expect(asked).toBe(2);
    const called = await told(new ScriptedBackend("<summary>It is done.</summary>", good), {});
    expect(called.calls).toMatchObject([{ name: "bash", done: true }]);
  });

  it("fails by name when the second answer is a summary too, and passes one that is a part of the answer", async () => {
    const summary = "<summary>All is done.</summary>";
    const { last, text } = await told(new ScriptedBackend(summary, summary), {});
    expect(last).toMatchObject({ type: "failed", error: { message: expect.stringContaining("<summary>") } });
    expect(text).toBe("");
    const page = `<details>\n${summary}\n</details>`;
    for (const answer of [page, `${summary}\nMore.`]) {
      expect((await told(new ScriptedBackend(answer), {})).text).toBe(answer);
    }
  });

  it("passes a failure of the upstream on unchanged", async () => {
    const error = { code: "rate_limited", message: "Slow down.", hint: "Wait." } as const;
    const { last } = await told(new ScriptedBackend([{ type: "failed", error }]), {});
    expect(last).toEqual({ type: "failed", error });
  });
});
