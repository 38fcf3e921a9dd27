import { describe, expect, test } from "vitest";
import { compileSchema } from "./schema-check.ts";

function fineness(schema: Readonly<Record<string, unknown>>, value: unknown): boolean {
  const misfits = compileSchema({ type: "object", ...schema }).misfits(value);
  expect(misfits.length).toBeGreaterThan(0);
  return misfits.every(({ isFine }) => isFine);
}

const member = (schema: unknown) => ({ properties: { a: schema } });

describe("what does not fit a schema", () => {
  test.each([
    ["pattern", member({ type: "string", pattern: "^x" }), { a: "y" }],
    ["format", member({ type: "string", format: "date" }), { a: "y" }],
    ["minLength", member({ type: "string", minLength: 3 }), { a: "y" }],
    ["maximum", member({ type: "number", maximum: 3 }), { a: 4 }],
    ["enum", member({ enum: ["x"] }), { a: "y" }],
    ["const", member({ const: "x" }), { a: "y" }],
    ["uniqueItems", member({ uniqueItems: true }), { a: [1, 1] }],
    ["additionalProperties", { properties: {}, additionalProperties: false }, { a: 1 }],
    ["a rule of one alternative", member({ anyOf: [{ type: "string", pattern: "^x" }, { type: "null" }] }), { a: "y" }],
  ])("is a finer rule: %s", (_, schema, value) => {
    expect(fineness(schema, value)).toBe(true);
  });

  test.each([
    ["required", { required: ["a"] }, {}],
    ["required, further in", member({ type: "object", required: ["b"] }), { a: {} }],
    ["type", member({ type: "string" }), { a: 1 }],
    ["the type of every alternative", member({ anyOf: [{ type: "string" }, { type: "null" }] }), { a: 1 }],
    ["type beside a finer one", member({ type: "string", enum: ["x"] }), { a: 1 }],
  ])("is no finer rule: %s", (_, schema, value) => {
    expect(fineness(schema, value)).toBe(false);
  });
});
