import { describe, expect, it } from "vitest";
import { MillraceError } from "../../base/errors.ts";
import type { TurnEventBody } from "../../log/event.ts";
import type { Tool } from "../../log/request.ts";
import { bash } from "../prompt/request.fake.ts";
import { bad, call, good, told } from "./planned-answer.fake.ts";
import { ScriptedBackend } from "./scripted-backend.fake.ts";

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

describe("a second question to the model", () => {
  describe("a call that only misses finer rules of its schema", () => {
    const submit: Tool = {
      name: "submit",
      description: "Hands in the work.",
      kind: "function",
      parameters: {
        type: "object",
        properties: {
          summary: { type: "string", enum: ["Done"] },
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
      const { calls, last, asked } = await told(backend, { tools });
      expect(backend.prompts[1]?.text).toContain("must be equal to one of the allowed values");
      expect(calls).toMatchObject([{ callId: "call_seed_1", arguments: '{"summary":"Done"}', done: true }]);
      expect(last).toMatchObject({ type: "finished", reason: { unified: "tool_calls" } });
      expect(asked).toBe(2);
    });

    it.each<[string, string | readonly TurnEventBody[]]>([
      ["misses them too", poor],
      ["is prose", "I would rather not."],
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
    ])("is passed on at once where %s was shown", async (_, answer) => {
      const backend = new ScriptedBackend(answer);
      const { calls, last, asked } = await told(backend, { tools });
      expect(backend.prompts).toHaveLength(1);
      expect(calls).toContainEqual(expect.objectContaining(asWritten));
      expect(calls.map(({ callId }) => callId)).toEqual(calls.map((_one, at) => `call_seed_${at + 1}`));
      expect(last).toMatchObject({ type: "finished", reason: { unified: "tool_calls" } });
      expect(asked).toBe(1);
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

    it("is passed on at once where the turn was resumed", async () => {
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

    it("sends nothing of the broken one", async () => {
      const broken = call('{"command":"ls -la","timeoutMs":[]}');
      const { calls, last } = await told(new ScriptedBackend(`${good}\n${broken}`, "Never mind."), {});
      expect(calls.map(({ done }) => done)).toEqual([true]);
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

  describe("announced and not made", () => {
    const announced = 'Let me see. I will now call bash with {"command":"ls"}.';

    it("is asked for, and follows the text that announced it", async () => {
      const backend = new ScriptedBackend(announced, good);
      const { text, calls, last, asked } = await told(backend, {});
      expect(backend.prompts[1]?.text).toContain("announces a call of bash");
      expect(text).toBe(announced);
      expect(calls).toMatchObject([{ name: "bash", done: true }]);
      expect(last).toMatchObject({ type: "finished", reason: { unified: "tool_calls" }, text: announced });
      expect(asked).toBe(2);
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
      ["in words again", "I did not mean to."],
      ["wrongly", bad],
    ])("leaves the answer as it is when it comes %s", async (_how, second) => {
      const { text, calls, last, asked } = await told(new ScriptedBackend(announced, second), {});
      expect({ text, calls }).toEqual({ text: announced, calls: [] });
      expect(last).toMatchObject({ type: "finished", reason: { unified: "stop" }, text: announced });
      expect(asked).toBe(2);
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
});
