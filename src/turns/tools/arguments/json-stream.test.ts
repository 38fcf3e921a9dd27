import * as fc from "fast-check";
import { expect, it } from "vitest";
import { JsonStream } from "./json-stream.ts";
import { compileSchema } from "./schema-check.ts";

const schema = { type: "object", properties: { a: { type: "string" }, b: { type: "integer" }, c: {} } };

function sent(text: string, sizes: readonly number[]): string {
  const stream = new JsonStream(compileSchema(schema));
  let [at, told] = [0, ""];
  for (const size of sizes) {
    told += stream.push(text.slice(at, at + size));
    at += size;
  }
  return told + stream.push(text.slice(at));
}

it("sends the beginning of an object, as it was written, the same however it is cut", () => {
  const text = fc.string({ unit: fc.constantFrom("a", '"', "\\", "\n", "}", ",", "é", "😀"), maxLength: 20 });
  const object = fc.record(
    { a: text, b: fc.integer(), c: fc.constantFrom(null, "}", [1, { d: "]" }]) },
    { requiredKeys: [] },
  );
  const sizes = fc.array(fc.nat(9), { maxLength: 60 });
  fc.assert(
    fc.property(object, fc.constantFrom(undefined, 1), sizes, (value, indent, cuts) => {
      const written = JSON.stringify(value, undefined, indent);
      const whole = sent(written, []);
      expect(written.startsWith(whole)).toBe(true);
      expect(sent(written, cuts)).toBe(whole);
    }),
    { numRuns: 50 },
  );
});

it("sends a text as it grows, and a member only when it is whole and fits", () => {
  expect(sent('{"b": 1, "a": "one \\u00', [])).toBe('{"b": 1, "a": "one ');
  expect(sent('{"b": "no", "a": "x', [])).toBe("");
  expect(sent('{"a": "x\ny", "a', [])).toBe('{"a": "x\\ny"');
});
