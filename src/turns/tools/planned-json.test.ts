import { describe, expect, it } from "vitest";
import type { ResponseFormat, TurnRequest } from "../../log/request.ts";
import { good, told } from "./planned-answer.fake.ts";
import { ScriptedBackend } from "./scripted-backend.fake.ts";

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
    const { last, asked } = await told(new ScriptedBackend("no", "no again"), json());
    expect(last).toMatchObject({
      type: "failed",
      error: {
        code: "upstream_failed",
        message: expect.stringContaining("not in the form asked for"),
        details: { reason: "unusable_answer" },
      },
    });
    expect(asked).toBe(2);
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
