// oxlint-disable unicorn/no-thenable -- `then` is a rule of JSON Schema
import { Ajv2020 } from "ajv/dist/2020.js";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { compileSchema } from "./schema-check.ts";

type Schema = Readonly<Record<string, unknown>>;

function fineness(schema: Schema, value: unknown): boolean {
  const misfits = compileSchema({ type: "object", ...schema }).misfits(value);
  expect(misfits.length).toBeGreaterThan(0);
  return misfits.every(({ isFine }) => isFine);
}

const member = (schema: unknown) => ({ properties: { a: schema } });

describe("what does not fit a schema", () => {
  test.each([
    ["minLength", member({ type: "string", minLength: 3 }), { a: "y" }],
    ["maximum", member({ type: "number", maximum: 3 }), { a: 4 }],
    ["enum", member({ enum: ["x"] }), { a: "y" }],
    ["const", member({ const: "x" }), { a: "y" }],
    ["uniqueItems", member({ uniqueItems: true }), { a: [1, 1] }],
    ["additionalProperties", { properties: {}, additionalProperties: false }, { a: 1 }],
    ["a rule of one alternative", member({ anyOf: [{ type: "string", minLength: 3 }, { type: "null" }] }), { a: "y" }],
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

describe("the verdict", () => {
  const name = fc.constantFrom("a", "b");
  const scalar = fc.constantFrom<unknown>("", "x", "xyz", "💧", 0, 1, 2.5, true, null);
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 3 },
      scalar,
      fc.array(tie("value"), { maxLength: 3 }),
      fc.dictionary(name, tie("value"), { maxKeys: 2 }),
    ),
  }));
  const schemaWith = (references: Readonly<Record<string, fc.Arbitrary<string>>>) =>
    fc.letrec((tie) => {
      const inner = tie("schema");
      const schemas = fc.array(inner, { minLength: 1, maxLength: 2 });
      const size = fc.nat(3);
      const flat = {
        type: fc.constantFrom("string", "integer", "number", "object", "array", ["string", "null"]),
        enum: fc.array(scalar, { minLength: 1, maxLength: 3 }),
        const: scalar,
        minLength: size,
        maxLength: size,
        minimum: size,
        exclusiveMaximum: size,
        multipleOf: fc.constantFrom(1, 2),
        minItems: size,
        maxItems: size,
        required: fc.uniqueArray(name),
        ...references,
      };
      const nested = {
        prefixItems: schemas,
        items: inner,
        properties: fc.dictionary(name, inner, { maxKeys: 2 }),
        additionalProperties: inner,
        allOf: schemas,
        anyOf: schemas,
      };
      const oneOf = (rules: Readonly<Record<string, fc.Arbitrary<unknown>>>) =>
        fc.oneof(...Object.entries(rules).map(([rule, content]) => content.map((one) => ({ [rule]: one }))));
      const combined = fc
        .array(fc.oneof(oneOf(flat), oneOf(nested)), { maxLength: 3 })
        .map((rules) => Object.assign({}, ...rules) as Schema);
      return { schema: fc.oneof({ maxDepth: 2 }, oneOf(flat), fc.boolean(), combined) };
    }).schema;

  test("is that of a complete validator, for every schema that it can read", () => {
    const options = { strict: false, validateSchema: false, addUsedSchema: false, logger: false } as const;
    const references = { $ref: fc.constantFrom("#/$defs/one", "#/$defs/two~1parts") };
    fc.assert(
      fc.property(schemaWith(references), schemaWith({}), value, (a, one, checked) => {
        const whole = { properties: { a }, $defs: { one, "two/parts": { type: "string" } } };
        const valid = new Ajv2020(options).compile(whole)({ a: checked });
        expect(compileSchema(whole).misfits({ a: checked }).length === 0).toBe(valid);
      }),
      { numRuns: 300 },
    );
  });

  test.each<[string, Schema]>([
    ["pattern", { pattern: "^x" }],
    ["format", { format: "date" }],
    ["contains", { contains: { type: "null" } }],
    ["not", { not: {} }],
    ["if", { if: true, [`then`]: false, else: false }],
    ["dependentRequired", { dependentRequired: { y: ["z"] } }],
    ["propertyNames", { propertyNames: false }],
    ["a second match of oneOf", { oneOf: [{}, {}] }],
    ["a reference that leads nowhere", { $ref: "#/$defs/none" }],
    ["a list in enum", { enum: [["x"]] }],
  ])("does not depend on what is not checked: %s", (_, rule) => {
    const rules = [rule, { anyOf: [false, rule] }, { additionalProperties: false, patternProperties: { x: rule } }];
    const values = ["enum" in rule ? ["z"] : "y", ["y"], { y: 1 }];
    const found = rules.flatMap((one) => values.flatMap((a) => compileSchema(member(one)).misfits({ a })));
    expect(found).toEqual([]);
  });
});

describe("a schema that costs too much counts as no schema", () => {
  const again = { $ref: "#" };
  const deep = (levels: number): unknown => (levels === 0 ? {} : { a: deep(levels - 1) });

  test.each<[string, Schema, unknown]>([
    [
      "alternatives that double at each level",
      { properties: { a: { anyOf: [again, again, { allOf: [again, again] }] } }, required: ["b"] },
      deep(60),
    ],
    ["a reference to itself", { $ref: "#", required: ["b"] }, {}],
    ["a very deep value", { properties: { a: again }, required: ["b"] }, deep(2_000)],
    [
      "a long list against a long enum",
      { properties: { a: { items: { enum: Array.from({ length: 10_000 }, String) } } } },
      { a: Array.from({ length: 10_000 }, () => "x") },
    ],
    [
      "a long text in many rules",
      { properties: { a: { allOf: Array.from({ length: 10_000 }, () => ({ minLength: 9e9 })) } } },
      { a: "x".repeat(100_000) },
    ],
  ])("%s", (_, costly, value) => {
    const check = compileSchema(costly);
    expect(check.misfits(value)).toEqual([]);
    expect(check.misfits(1)).toEqual([]); // nothing is left for another value
    expect(compileSchema({ type: "object" }).misfits(1)).toHaveLength(1); // another schema has its own steps
  });
});
