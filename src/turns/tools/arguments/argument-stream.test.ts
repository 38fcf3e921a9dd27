import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { closingBracket, parseLooseJson } from "../forms/loose-json.ts";
import { ArgumentStream } from "./argument-stream.ts";
import { continueJson } from "./continue-json.ts";
import { repairArguments } from "./repair-arguments.ts";
import { compileSchema } from "./schema-check.ts";

const text = { type: "string" };
const schema = { type: "object", properties: { a: text, b: text, n: { type: "integer" }, deep: {} }, required: ["a"] };
const check = compileSchema(schema);
const objects = fc.record(
  { a: fc.string({ unit: "binary" }), b: fc.string(), n: fc.integer(), deep: fc.jsonValue() },
  { requiredKeys: ["a"] },
);

describe("ArgumentStream", () => {
  it("sends the beginning of the object however it is cut, and what is left completes it", () => {
    fc.assert(
      fc.property(
        objects,
        fc.array(fc.nat(40), { maxLength: 20 }),
        fc.boolean(),
        fc.boolean(),
        (value, cuts, eager, pretty) => {
          const raw = JSON.stringify(value, null, pretty ? 2 : undefined);
          const stream = new ArgumentStream(check, eager);
          let sent = "";
          let rest = `${raw} and more`;
          for (const cut of [...cuts, raw.length]) {
            const { taken, send } = stream.push(rest.slice(0, cut));
            expect(taken <= cut).toBe(true);
            rest = rest.slice(taken);
            sent += send;
            expect(raw.startsWith(sent)).toBe(true);
            expect(sent.isWellFormed()).toBe(true);
          }
          expect(stream.closed).toBe(true);
          expect(stream.raw).toBe(raw);
          expect(rest).toBe(" and more");
          const more = continueJson(sent, value);
          expect(JSON.parse(sent + more)).toEqual(JSON.parse(raw));
        },
      ),
    );
  });

  it("sends nothing before every required member is there, unless eager", () => {
    const raw = '{"b":"long text","a":"x"}';
    const held = new ArgumentStream(check);
    held.push(raw.slice(0, 10));
    expect(held.sent).toBe("");
    const eager = new ArgumentStream(check, true);
    eager.push(raw.slice(0, 10));
    expect(eager.sent).toBe('{"b":"long');
  });

  it("sends nothing after a member that does not fit", () => {
    const stream = new ArgumentStream(check);
    stream.push('{"n":"no number","a":"text');
    expect(stream.sent).toBe("");
  });

  it("sends raw line breaks as escapes", () => {
    const stream = new ArgumentStream(check);
    stream.push('{"a":"one\ntwo"}');
    expect(stream.sent).toBe('{"a":"one\\ntwo');
    expect(continueJson(stream.sent, { a: "one\ntwo" })).toBe('"}');
  });

  it("notices at once what is no object", () => {
    for (const raw of ["x", "[1]", '{"a" "b"', "{'a'", '{"a":"x" y', "{,"]) {
      const stream = new ArgumentStream(check);
      stream.push(raw);
      expect([raw, stream.malformed]).toEqual([raw, true]);
    }
  });
});

describe("continueJson", () => {
  it("gives nothing for a value that contradicts what was sent", () => {
    expect(continueJson('{"a":"ls -l', { a: "pwd" })).toBeUndefined();
    expect(continueJson('{"n":1,"a":"x', { n: 2, a: "xy" })).toBeUndefined();
    expect(continueJson('{"n":1', { a: "x" })).toBeUndefined();
  });
});

describe("parseLooseJson", () => {
  it("reads all strict JSON as JSON.parse does, without repairs", () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.boolean(), (value, pretty) => {
        const raw = JSON.stringify(value, null, pretty ? 2 : undefined);
        const loose = parseLooseJson(raw);
        expect(loose).toEqual({ value: JSON.parse(raw) as unknown, end: raw.length, repairs: [] });
      }),
    );
  });

  it("never throws and never hangs, for any input", () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(..."{}[]\",:'/*#\\ua1 \n".split("")) }), (raw) => {
        parseLooseJson(raw, 0, true);
        closingBracket(raw, 0);
      }),
    );
    expect(parseLooseJson("[".repeat(10_000))).toBeUndefined();
  });
});

describe("compileSchema", () => {
  it("tolerates schemas that are broken and still wants what they require", () => {
    for (const broken of [
      { type: "object", required: ["a"], properties: { a: { $ref: "#/nowhere" } } },
      { type: "objekt", required: ["a"] },
      { required: ["a"], properties: { a: { pattern: "(" } } },
    ]) {
      const misfits = compileSchema(broken).misfits({});
      expect(misfits.map((misfit) => misfit.text)).toEqual(["the arguments must have required property 'a'"]);
      expect(compileSchema(broken).misfits({ a: 1 })).toEqual([]);
    }
  });

  it("knows both dialects and the formats", () => {
    const tuple2020 = { type: "object", properties: { t: { prefixItems: [{ type: "integer" }] } } };
    const tuple7 = {
      $schema: "http://json-schema.org/draft-07/schema#",
      type: "object",
      properties: { t: { items: [{ type: "integer" }] } },
    };
    for (const schema of [tuple2020, tuple7]) expect(compileSchema(schema).misfits({ t: ["x"] })).toHaveLength(1);
    const email = compileSchema({ type: "object", properties: { to: { type: "string", format: "email" } } });
    expect(email.misfits({ to: "nobody" })).toHaveLength(1);
    expect(email.misfits({ to: "a@example.com" })).toEqual([]);
  });

  it("does not send early where rules look at several members", () => {
    const crossed = compileSchema({ ...schema, dependentRequired: { a: ["b"] } });
    const stream = new ArgumentStream(crossed);
    stream.push('{"a":"text');
    expect(stream.sent).toBe("");
  });
});

describe("repairArguments", () => {
  it("leaves valid arguments as they are", () => {
    fc.assert(
      fc.property(objects, (value) => {
        expect(repairArguments(value, check)).toEqual({ ok: true, value, changed: false });
      }),
    );
  });

  it("undoes what it can read without a doubt, in any branch", () => {
    const either = compileSchema({
      type: "object",
      properties: { v: { anyOf: [{ type: "integer" }, { type: "boolean" }] } },
    });
    expect(repairArguments({ v: "7" }, either)).toMatchObject({ ok: true, value: { v: 7 } });
    expect(repairArguments({ v: "true" }, either)).toMatchObject({ ok: true, value: { v: true } });
    expect(repairArguments({ v: "seven" }, either)).toMatchObject({ ok: false });
    expect(repairArguments({ v: "007" }, either)).toMatchObject({ ok: false });
  });
});
