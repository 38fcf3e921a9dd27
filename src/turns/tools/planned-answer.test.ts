import { describe, expect, it } from "vitest";
import { MillraceError } from "../../base/errors.ts";
import type { TurnEventBody } from "../../log/event.ts";
import type { ResponseFormat, Tool, TurnRequest } from "../../log/request.ts";
import { layoutPrompt } from "../prompt/layout.ts";
import { applyPatch, bash, fakeModel, fakeRequest, readFile } from "../prompt/request.fake.ts";
import { exchange } from "../run/exchange.ts";
import { planAnswer } from "./answer-plan.ts";
import type { AnswerReport } from "./judge.ts";
import { ScriptedBackend, scriptedCascade } from "./scripted-backend.fake.ts";

const call = (body: string, name = "bash") => `<tool_call name="${name}">\n${body}\n</tool_call>`;
const good = call('{"command":"ls"}');
const bad = call('{"timeoutMs":5}');
const signal = new AbortController().signal;

interface Told {
  readonly events: readonly TurnEventBody[];
  readonly last: TurnEventBody;
  readonly text: string;
  readonly calls: readonly {
    readonly callId: string;
    readonly name: string;
    readonly arguments: string;
    readonly done: boolean;
  }[];
  readonly report: AnswerReport | undefined;
}

/** Runs a request against scripted answers and adds up what a reader of the log would know. */
async function told(
  backend: ScriptedBackend,
  fields: Partial<TurnRequest>,
  options: { readonly keep?: boolean; readonly resume?: boolean; readonly onEvent?: () => void } = {},
): Promise<Told> {
  const request = fakeRequest({ tools: [bash, readFile, applyPatch], ...fields });
  const plan = planAnswer(request, "seed");
  if (plan === undefined) throw new Error("nothing to read in this answer");
  let report: AnswerReport | undefined;
  const { prompt } = layoutPrompt(request, fakeModel);
  const runOptions = { keep: options.keep ?? false, onAlive: () => {} };
  const from = { cascadeId: scriptedCascade, text: "whatever the log holds", thinking: "" };
  const asking = exchange({
    backend,
    prompt,
    run: runOptions,
    plan,
    onReport: (given) => (report = given),
    ...(options.resume === true ? { from } : {}),
  });
  const events: TurnEventBody[] = [];
  let text = "";
  const calls = new Map<string, { callId: string; name: string; arguments: string; done: boolean }>();
  const take = (event: TurnEventBody) => {
    events.push(event);
    options.onEvent?.();
    if (event.type === "text") text += event.delta;
    if (event.type === "rewritten") ({ text } = event);
    if (event.type !== "tool_call") return;
    const known = calls.get(event.callId) ?? { callId: event.callId, name: event.name, arguments: "", done: false };
    known.arguments += event.argumentsDelta;
    known.done = event.done;
    calls.set(event.callId, known);
  };
  await asking(async (batch) => {
    for (const event of batch) take(event);
    return true;
  }, signal);
  const last = events.at(-1);
  if (last === undefined) throw new Error("no event");
  return { events, last, text, calls: [...calls.values()], report };
}

/** The backend, whose IDE is gone when it is asked a second time. */
function failingSecond(backend: ScriptedBackend): ScriptedBackend {
  const run = backend.run.bind(backend);
  let asked = 0;
  backend.run = (...args) => {
    if (asked++ > 0) throw new MillraceError("ide_not_running", "The IDE is gone.");
    return run(...args);
  };
  return backend;
}

describe("a backend whose answers are read by a plan", () => {
  it("turns calls into events and says that the turn ended for them", async () => {
    const backend = new ScriptedBackend(`Looking.\n\n${good}`);
    const { calls, last, text, report } = await told(backend, {});
    expect(text).toBe("Looking.");
    expect(calls).toEqual([{ callId: "call_seed_1", name: "bash", arguments: '{"command":"ls"}', done: true }]);
    expect(last).toEqual({
      type: "finished",
      reason: { unified: "tool_calls", raw: "NO_TOOL_CALL" },
      text: "Looking.",
    });
    expect(report).toEqual({ outcomes: ["first_try"], asked: "once" });
  });

  it("sends arguments while the model still writes them", async () => {
    const { events } = await told(new ScriptedBackend(call(`{"command":"${"x".repeat(100)}"}`)), {});
    const deltas = events.filter((event) => event.type === "tool_call");
    expect(deltas.length).toBeGreaterThan(10);
    expect(deltas.map(({ done }) => done)).toEqual([...deltas.slice(1).map(() => false), true]);
  });

  it("keeps the arguments as the model wrote them, to the last digit", async () => {
    const body = '{ "path" : "a", "offset" : 12345678901234567890 }';
    const { calls } = await told(new ScriptedBackend(call(body, "read_file")), {});
    expect(calls[0]?.arguments).toBe(body);
  });

  it("asks once more on the same trajectory, and sends the corrected call", async () => {
    const backend = new ScriptedBackend(`Looking.\n${bad}`, `Sorry!\n${good}`);
    const { calls, text, last, report, events } = await told(backend, {});
    expect(backend.prompts).toHaveLength(2);
    expect(backend.prompts[1]).toMatchObject({ continues: scriptedCascade, images: [] });
    expect(backend.prompts[1]?.text).toContain("must have required property 'command'");
    expect(backend.prompts[1]?.messages.slice(-2).map(({ role }) => role)).toEqual(["assistant", "user"]);
    expect(backend.options.every(({ keep }) => keep)).toBe(true);
    expect(text).toBe("Looking.");
    expect(calls).toMatchObject([{ name: "bash", arguments: '{"command":"ls"}', done: true }]);
    expect(last).toMatchObject({ type: "finished", reason: { unified: "tool_calls" } });
    expect(report).toEqual({ outcomes: ["reasked"], asked: "twice" });
    expect(events.filter(({ type }) => type === "started")).toHaveLength(1);
    expect(events.find(({ type }) => type === "usage")).toMatchObject({ promptTokens: 20, completionTokens: 10 });
  });

  it("completes a call of which readers already have the beginning", async () => {
    const backend = new ScriptedBackend(
      call('{"command":"ls -la","timeoutMs":[]}'),
      call('{"command":"ls -la","timeoutMs":3}'),
    );
    const { calls } = await told(backend, {});
    expect(calls).toHaveLength(1);
    expect(calls[0]).toMatchObject({ callId: "call_seed_1", done: true });
    expect(JSON.parse(calls[0]?.arguments ?? "")).toEqual({ command: "ls -la", timeoutMs: 3 });
  });

  it("fails when the correction contradicts what readers already have", async () => {
    const backend = new ScriptedBackend(call('{"command":"ls -la","timeoutMs":[]}'), call('{"command":"pwd"}'));
    const { last, calls } = await told(backend, {});
    expect(last).toMatchObject({ type: "failed", error: { code: "upstream_failed" } });
    expect(calls.every(({ done }) => !done)).toBe(true);
  });

  it("fails clearly when the second answer is no better, and runs nothing", async () => {
    const backend = new ScriptedBackend(bad, bad);
    const { last, calls, report } = await told(backend, {});
    expect(backend.prompts).toHaveLength(2);
    expect(calls).toEqual([]);
    expect(last).toMatchObject({
      type: "failed",
      error: { code: "upstream_failed", message: expect.stringContaining("must have required property 'command'") },
    });
    expect(report).toEqual({ outcomes: ["failed"], asked: "twice" });
  });

  it("fails when the second answer is prose: a call is never silently dropped", async () => {
    const { last } = await told(new ScriptedBackend(bad, "Never mind."), {});
    expect(last).toMatchObject({ type: "failed", error: { message: expect.stringContaining("without the call") } });
  });

  it("keeps the good calls of an answer that has a bad one", async () => {
    const backend = new ScriptedBackend(`${good}\n${bad}`, call('{"command":"pwd"}'));
    const { calls, report } = await told(backend, {});
    expect(calls.map((one) => one.arguments)).toEqual(['{"command":"ls"}', '{"command":"pwd"}']);
    expect(new Set(calls.map(({ callId }) => callId)).size).toBe(2);
    expect(report?.outcomes).toEqual(["first_try", "reasked"]);
    expect(backend.prompts[1]?.text).toContain("other calls were accepted");
  });

  describe("a call that only misses finer rules of its schema", () => {
    const submit: Tool = {
      name: "submit",
      description: "Hands in the work.",
      kind: "function",
      parameters: {
        type: "object",
        properties: {
          summary: { type: "string", pattern: "^[A-Z]" },
          size: { enum: ["s", "m"] },
          file: { type: "string" },
        },
        required: ["summary"],
      },
    };
    const tools = [bash, submit];
    const poor = call('{ "summary": "done" }', "submit");
    const fine = call('{"summary":"Done"}', "submit");
    const asWritten = { name: "submit", arguments: '{ "summary": "done" }', done: true };
    const upstreamFails: readonly TurnEventBody[] = [
      { type: "failed", error: new MillraceError("quota_exhausted", "No more.").toRecord() },
    ];

    it("is asked for again once, while nothing was shown", async () => {
      const backend = new ScriptedBackend(poor, fine);
      const { calls, last, report } = await told(backend, { tools });
      expect(backend.prompts[1]?.text).toContain("must match pattern");
      expect(calls).toMatchObject([{ callId: "call_seed_1", arguments: '{"summary":"Done"}', done: true }]);
      expect(last).toMatchObject({ type: "finished", reason: { unified: "tool_calls" } });
      expect(report).toEqual({ outcomes: ["reasked"], asked: "twice" });
    });

    it.each<[string, string | readonly TurnEventBody[]]>([
      ["misses them too", poor],
      ["is prose", "I would rather not."],
      ["calls another tool", good],
      ["cannot be had", upstreamFails],
    ])("is passed on unchanged where the second answer %s", async (_, second) => {
      const backend = new ScriptedBackend(poor, second);
      const { calls, last } = await told(backend, { tools });
      expect(backend.prompts).toHaveLength(2);
      expect(calls).toContainEqual(expect.objectContaining(asWritten));
      expect(calls.every(({ done }) => done)).toBe(true);
      expect(last).toMatchObject({ type: "finished", reason: { unified: "tool_calls" } });
    });

    it.each([
      ["prose", `Looking.\n${poor}`],
      ["a call before it", `${good}\n${poor}`],
      ["a call after it", `${poor}\n${good}`],
    ])("is passed on at once where %s was shown", async (_, answer) => {
      const backend = new ScriptedBackend(answer);
      const { calls, last, report } = await told(backend, { tools });
      expect(backend.prompts).toHaveLength(1);
      expect(calls).toContainEqual(expect.objectContaining(asWritten));
      expect(calls.map(({ callId }) => callId)).toEqual(calls.map((_one, at) => `call_seed_${at + 1}`));
      expect(last).toMatchObject({ type: "finished", reason: { unified: "tool_calls" } });
      expect(report?.asked).toBe("once");
    });

    it("is passed on at once where a thought was shown", async () => {
      const answer: readonly TurnEventBody[] = [
        { type: "thinking", delta: "Hm." },
        { type: "text", delta: poor },
        { type: "finished", reason: { unified: "stop", raw: undefined }, text: poor },
      ];
      const backend = new ScriptedBackend(answer);
      expect((await told(backend, { tools })).calls).toMatchObject([asWritten]);
      expect(backend.prompts).toHaveLength(1);
    });

    it("is passed on at once where a part of it was sent, and where the turn was resumed", async () => {
      const begun = new ScriptedBackend(call('{"summary":"Done","file":"a long file name","size":"xl"}', "submit"));
      const sent = await told(begun, { tools });
      expect(sent.calls).toMatchObject([{ done: true, arguments: expect.stringContaining('"size":"xl"') }]);
      expect(begun.prompts).toHaveLength(1);
      const resumed = await told(new ScriptedBackend(poor), { tools }, { resume: true });
      expect(resumed.calls).toMatchObject([asWritten]);
    });
  });

  describe("an answer with a whole call and a broken one", () => {
    it.each<[string, string | readonly TurnEventBody[]]>([
      ["is broken too", bad],
      ["is prose", "Never mind."],
      ["fails", [{ type: "failed", error: new MillraceError("quota_exhausted", "No more.").toRecord() }]],
    ])("ends with the whole one where the second answer %s", async (_, second) => {
      const backend = new ScriptedBackend(`${good}\n${bad}`, second);
      const { calls, last } = await told(backend, {});
      expect(backend.prompts).toHaveLength(2);
      expect(calls).toMatchObject([{ arguments: '{"command":"ls"}', done: true }]);
      expect(last).toMatchObject({ type: "finished", reason: { unified: "tool_calls" } });
    });

    it("gives a call once that the second answer repeats", async () => {
      const backend = new ScriptedBackend(`${good}\n${bad}`, `${good}\n${call('{"command":"pwd"}')}`);
      const { calls } = await told(backend, {});
      expect(calls.map((one) => one.arguments)).toEqual(['{"command":"ls"}', '{"command":"pwd"}']);
    });

    it("never marks the broken one done, where a part of it was sent", async () => {
      const broken = call('{"command":"ls -la","timeoutMs":[]}');
      const { calls, last } = await told(new ScriptedBackend(`${good}\n${broken}`, "Never mind."), {});
      expect(calls.map(({ done }) => done)).toEqual([true, false]);
      expect(last).toMatchObject({ type: "finished", reason: { unified: "tool_calls" } });
    });

    it("ends with the whole one where the second question cannot be asked", async () => {
      const backend = new ScriptedBackend(`${good}\n${bad}`);
      const { calls, last } = await told(failingSecond(backend), {});
      expect(calls).toMatchObject([{ arguments: '{"command":"ls"}', done: true }]);
      expect(last).toMatchObject({ type: "finished", reason: { unified: "tool_calls" } });
    });

    it("fails where there is no whole one, with what the second question failed of", async () => {
      const { last } = await told(failingSecond(new ScriptedBackend(bad)), {});
      expect(last).toMatchObject({ type: "failed", error: { code: "ide_not_running" } });
    });
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

  it("ends a turn that was cut off at its length as cut off, without asking again", async () => {
    const text = '<tool_call name="bash">\n{"command":"ls -l';
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

  describe("announced and not made", () => {
    const announced = 'Let me see. I will now call bash with {"command":"ls"}.';

    it("is asked for, and follows the text that announced it", async () => {
      const backend = new ScriptedBackend(announced, good);
      const { text, calls, last, report } = await told(backend, {});
      expect(backend.prompts[1]?.text).toContain("announces a call of bash");
      expect(text).toBe(announced);
      expect(calls).toMatchObject([{ name: "bash", done: true }]);
      expect(last).toMatchObject({ type: "finished", reason: { unified: "tool_calls" }, text: announced });
      expect(report).toEqual({ outcomes: ["reasked"], asked: "twice" });
    });

    it("does not show the model's thinking about the second question", async () => {
      const thinking = (delta: string) => ({ type: "thinking", delta }) as const;
      const said = (text: string): TurnEventBody[] => [
        { type: "text", delta: text },
        { type: "finished", reason: { unified: "stop", raw: undefined }, text },
      ];
      const backend = new ScriptedBackend([thinking("hm"), ...said(announced)], [thinking("oh"), ...said(good)]);
      const { events } = await told(backend, {});
      expect(events.flatMap((event) => (event.type === "thinking" ? event.delta : []))).toEqual(["hm"]);
    });

    it.each([
      ["in words again", "I did not mean to.", []],
      ["wrongly", bad, ["failed"]],
    ])("leaves the answer as it is when it comes %s", async (_how, second, outcomes) => {
      const { text, calls, last, report } = await told(new ScriptedBackend(announced, second), {});
      expect({ text, calls }).toEqual({ text: announced, calls: [] });
      expect(last).toMatchObject({ type: "finished", reason: { unified: "stop" }, text: announced });
      expect(report?.outcomes).toEqual(outcomes);
    });

    it("leaves the answer as it is when the upstream fails then, or the turn was resumed", async () => {
      const error = { code: "rate_limited", message: "Slow down.", hint: "Wait." } as const;
      const failing = await told(new ScriptedBackend(announced, [{ type: "failed", error }]), {});
      expect(failing.last).toMatchObject({ type: "finished", text: announced });
      const resumed = new ScriptedBackend(announced);
      expect((await told(resumed, {}, { resume: true })).last).toMatchObject({ type: "finished", text: announced });
      expect(resumed.prompts).toHaveLength(1);
    });
  });

  it("archives the trajectory unless it is kept, and also a kept one when the turn failed", async () => {
    const cases = [
      { answers: [good], keep: false, archived: 1 },
      { answers: [good], keep: true, archived: 0 },
      { answers: [bad, bad], keep: true, archived: 1 },
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
    const { last } = await told(backend, {}, { resume: true });
    expect(backend.prompts).toHaveLength(1);
    expect(last).toMatchObject({ type: "failed" });
    const again = await told(new ScriptedBackend(good), {}, { resume: true });
    expect(again.calls).toMatchObject([{ callId: "call_seed_1", done: true }]);
  });

  it("passes a failure of the upstream on unchanged", async () => {
    const error = { code: "rate_limited", message: "Slow down.", hint: "Wait." } as const;
    const { last } = await told(new ScriptedBackend([{ type: "failed", error }]), {});
    expect(last).toEqual({ type: "failed", error });
  });
});

describe("an answer that has to be JSON", () => {
  const schema = {
    type: "object",
    properties: { city: { type: "string" }, days: { type: "integer" } },
    required: ["city", "days"],
    additionalProperties: false,
  };
  const format: ResponseFormat = { type: "json_schema", name: "trip", strict: true, schema };
  const json = (fields: Partial<TurnRequest> = {}) => ({ tools: [], responseFormat: format, ...fields });

  it("goes out unchanged, while it is written", async () => {
    const answer = '{"city": "Bern, the capital of Switzerland", "days": 3}';
    const { text, events } = await told(new ScriptedBackend(answer), json());
    expect(text).toBe(answer);
    expect(events.filter(({ type }) => type === "text").length).toBeGreaterThan(3);
  });

  it("loses fences and prose", async () => {
    for (const answer of [
      '```json\n{"city":"Bern","days":3}\n```',
      'Here you are:\n\n{"city":"Bern","days":3}\n\nEnjoy!',
      '```\n{"city":"Bern","days":3}\n```\nDone.',
    ]) {
      expect((await told(new ScriptedBackend(answer), json())).text).toBe('{"city":"Bern","days":3}');
    }
  });

  it("is asked for again when it does not fit, and completed", async () => {
    const backend = new ScriptedBackend('{"city":"Bern","days":"three"}', '{"city":"Bern","days":3}');
    const { text, last } = await told(backend, json());
    expect(backend.prompts[1]?.text).toContain("/days must be integer");
    expect(JSON.parse(text)).toEqual({ city: "Bern", days: 3 });
    expect(last).toMatchObject({ type: "finished", reason: { unified: "stop" }, text });
  });

  it("is called an answer where the whole of it does not fit", async () => {
    const backend = new ScriptedBackend("[1]", '{"city":"Bern","days":3}');
    await told(backend, json());
    expect(backend.prompts[1]?.text).toContain("the answer must be object");
  });

  it("ends in an error when the second does not fit either", async () => {
    const { last, report } = await told(new ScriptedBackend("no", "no again"), json());
    expect(last).toMatchObject({
      type: "failed",
      error: {
        code: "upstream_failed",
        message: expect.stringContaining("not in the form asked for"),
        details: { reason: "unusable_answer" },
      },
    });
    expect(report?.outcomes).toEqual([]);
  });

  it("may be any object when no schema is given, and nothing else", async () => {
    const format = { responseFormat: { type: "json_object" } } as const;
    expect((await told(new ScriptedBackend('{"a":[1,{"b":null}]}'), json(format))).text).toBe('{"a":[1,{"b":null}]}');
    expect((await told(new ScriptedBackend("[1]", "[1]"), json(format))).last.type).toBe("failed");
  });

  it("is repaired where that loses nothing", async () => {
    const { text } = await told(new ScriptedBackend("{city: 'Bern', days: 3,}"), json());
    expect(JSON.parse(text)).toEqual({ city: "Bern", days: 3 });
  });

  it("is not asked of an answer that calls tools", async () => {
    const { text, calls, last } = await told(new ScriptedBackend(`First I look.\n${good}`), { responseFormat: format });
    expect(text).toBe("First I look.");
    expect(calls).toHaveLength(1);
    expect(last).toMatchObject({ type: "finished", reason: { unified: "tool_calls" } });
  });

  it("may be a list where the schema says so", async () => {
    const list = { ...format, schema: { type: "array", items: { type: "integer" } } };
    expect((await told(new ScriptedBackend("```json\n[1, 2]\n```"), json({ responseFormat: list }))).text).toBe(
      "[1, 2]",
    );
  });
});
