import { describe, expect, test } from "vitest";
import { parseJson } from "../../base/json.ts";
import type { Tool } from "../../log/request.ts";
import { checkArguments } from "./arguments/check-arguments.ts";
import { mapToolNames } from "./names.ts";

function shownOf(parameters: Tool["parameters"]) {
  const [tool] = mapToolNames([{ name: "t", description: "", kind: "function", parameters }]).tools;
  if (tool === undefined) throw new Error("no tool");
  return tool;
}

describe("a root with properties is of an object, with any name of its type", () => {
  test.each([
    ["Gemini's", { type: "OBJECT", properties: { a: { type: "STRING" } }, required: ["a"] }],
    ["null", { type: null, properties: { a: { type: "string" } } }],
    ["the text null", { type: "null", properties: { a: { type: "string" } } }],
    ["Python's", { type: "dict", properties: { a: { type: "str" } } }],
    ["unknown", { type: "params", properties: { a: { type: "string" } } }],
    ["none", { properties: { a: { type: "string" } } }],
  ])("%s", (_, parameters) => {
    const tool = shownOf(parameters);
    expect(tool.wrappedIn).toBeUndefined();
    for (const value of [{ a: "x" }, { value: { a: "x" } }, { arguments: { a: "x" } }])
      expect(checkArguments(tool, value, JSON.stringify(value))).toMatchObject({ ok: true, text: '{"a":"x"}' });
  });
});

const members = { a: { type: "string" } };

test.each([
  ["object or null", { type: ["object", "null"], properties: members }],
  ["a reference", { $ref: "#/$defs/X", $defs: { X: { type: "object", properties: members } } }],
  ["alternatives", { anyOf: [{ type: "object", properties: members }, { type: "null" }] }],
  ["of an object that requires null", { type: "object", properties: members, required: null }],
  ["with a remote reference inside", { type: "object", properties: { a: { $ref: "https://example.com/s.json" } } }],
])("a root that is %s takes an object as it is", (_, parameters) => {
  const tool = shownOf(parameters);
  expect(tool.wrappedIn).toBeUndefined();
  expect(checkArguments(tool, { a: "x" }, '{"a":"x"}')).toMatchObject({ ok: true, text: '{"a":"x"}' });
});

test("types inside have JSON Schema's names; a member that is called type stays", () => {
  const { shownParameters } = shownOf({
    type: "OBJECT",
    properties: {
      type: { type: "STRING" },
      n: { type: ["INTEGER", "null"] },
      list: { type: "ARRAY", items: { type: "float" } },
      any: { type: "any" },
    },
  });
  expect(shownParameters).toEqual({
    type: "object",
    properties: {
      type: { type: "string" },
      n: { type: ["integer", "null"] },
      list: { type: "array", items: { type: "number" } },
      any: { type: "any" },
    },
  });
});

test.each(["array", "STRING", "integer"])("a root of type %s is wrapped", (type) => {
  expect(shownOf({ type }).wrappedIn).toBe("value");
});

test("an own member called value, and members that the schema does not have, are not unwrapped", () => {
  const own = shownOf({ type: "object", properties: { value: { type: "object" }, a: {} } });
  expect(checkArguments(own, { value: { a: 1 } })).toMatchObject({ ok: true, text: '{"value":{"a":1}}' });
  const other = shownOf({ type: "object", properties: { a: {} } });
  expect(checkArguments(other, { value: { b: 1 } })).toMatchObject({ ok: true, text: '{"value":{"b":1}}' });
});

test("a number of 64 bits passes a check by its schema, and keeps its digits", () => {
  const [least, most] = ["-9223372036854775808", "9223372036854775807"].map((text) => JSON.parse(text) as number);
  const tool = shownOf({ type: "object", properties: { id: { type: "integer", minimum: least, maximum: most } } });
  for (const raw of [
    '{"id":2512292042121000001}',
    '{"id":"2512292042121000001"}',
    '{"value":{"id":2512292042121000001}}',
  ])
    expect(checkArguments(tool, parseJson(raw), raw)).toMatchObject({ ok: true, text: '{"id":2512292042121000001}' });
  const text = shownOf({ type: "object", properties: { id: { type: "string" } } });
  const given = '{"id":2512292042121000001}';
  expect(checkArguments(text, parseJson(given), given)).toMatchObject({
    ok: true,
    text: '{"id":"2512292042121000001"}',
  });
});
