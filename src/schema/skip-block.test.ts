import { readFileSync } from "node:fs";
import { type Options, Parser } from "acorn";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readSchema } from "./read-schema.ts";
import { createSkipper, endOfBlock } from "./skip-block.ts";

/** Where the block is said to end, from the first brace on; the whole text behind it is there to be run into. */
const ending = (text: string) => endOfBlock(`${text} }}) / } "' `, text.indexOf("{"), Number.POSITIVE_INFINITY);

describe("the end of a block", () => {
  it.each([
    "{}",
    "{a={b:{}}}",
    "{'}';\"}\";`}`}",
    "{`a${{b:`}${'}'}`}}c`}",
    String.raw`{"\"}";'\'}';${"`"}\${}${"`"}}`,
    "{//}\n}",
    "{/* } */}",
    "{return/}/.test(a)}",
    "{a=/[/}]/g,b=a/2/c}",
    "{if(a)/}/.exec(b)}",
    "{a.if(b)/2/c}",
    "{a.return/2/1;a?.typeof/2}",
    "{for(let a of b)/}/.test(a)}",
    "{a++/2;b=c--/d/e}",
    "{x=[...typeof/}/]}",
    "{1..a/2;.5/2;1.5e+3/2/a}",
    "{this.#a/2/1}",
    "{a=b?/}/:c/d/e}",
    "{a=()=>/}/}",
    "{while(n-->0);}",
    "{case/}/:do/}/.a();while(/}/)}",
    "{a?.5:/}/}",
  ])("is found in %s", (text) => {
    expect(ending(text)).toBe(text.length - 1);
  });

  it.each([
    ["a slash behind a block, a pattern or not", "{{}/}/g}"],
    ["a word that is a key word in one place only", "{of/}/g}"],
    ["the parenthesis of an await", "{for await(a of b)/}/.test(a)}"],
    ["a comment in HTML's form", "{a<!--}\n}"],
    ["the end of one", "{\n-->}\n}"],
    ["a string that does not end", "{'}\n}"],
    ["a pattern that does not end", "{a=/}\n}"],
    ["a blank beyond ASCII", "{return\u00a0/}/}"],
  ])("is left to the parser behind %s", (_, text) => {
    expect(ending(text)).toBeUndefined();
  });

  it("is not looked for beyond its limit", () => {
    expect(endOfBlock("{aaaa}", 0, 5)).toBeUndefined();
    expect(endOfBlock("{aaaa}", 0, 6)).toBe(5);
  });

  it("is where a parser has it, in more than a thousand functions that people wrote", () => {
    const names = ["acorn/dist/acorn.mjs", "fast-check/lib/fast-check.js", "zod/v4/core/schemas.js"];
    const all: {
      readonly name: string;
      readonly at: number;
      readonly told: number | undefined;
      readonly end: number;
    }[] = [];
    for (const name of names) {
      const source = readFileSync(new URL(`../../node_modules/${name}`, import.meta.url), "utf8");
      for (const { start, end } of functionBodies(source)) {
        all.push({ name, at: start, told: endOfBlock(source, start, source.length), end: end - 1 });
      }
    }
    expect(all.filter(({ told, end }) => told !== undefined && told !== end)).toEqual([]);
    expect(all.filter(({ told }) => told !== undefined).length).toBeGreaterThan(1_500);
  });

  it("is found or not in any text, but never beyond it", () => {
    const signs = "{}()[]/*'\"`$\\\n.+-<!a1 ".split("");
    const pieces = fc.constantFrom(...signs, "${", "return", "if(", "of", "//", "\u2028", "é");
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 60 }), (parts) => {
        const text = `{${parts.join("")}`;
        const end = endOfBlock(text, 0, text.length);
        expect(end === undefined || text[end] === "}").toBe(true);
      }),
    );
  });
});

describe("bodies that are passed over", () => {
  const note = 'class q{static typeName="exa.a_pb.Note";static fields=r.newFieldList(()=>[])}';

  it("may hold anything: nothing of them is looked at", () => {
    expect(readSchema(`function a(){let let @@ #}${note}`).problems).toEqual([]);
    expect(() => readSchema(`function a(){let @@ "typeName"}${note}`)).toThrow("not JavaScript");
  });

  it("are looked for in a bounded number of characters, however deep and often they begin", () => {
    const source = `{${"a;".repeat(1_000)}}`;
    const skipper = createSkipper(source);
    const told = Array.from({ length: 20 }, () => skipper.endOf(0));
    expect(told[0]).toBe(source.length - 1);
    expect(told.at(-1)).toBeUndefined();
    const nested = `${"function a(){".repeat(200)}x={}/1;${"}".repeat(200)}${note}`;
    expect(readSchema(nested).problems).toEqual([]);
  });

  it("end where a word of generated code stands, asked in any order", () => {
    const source = "{a}{typeName}{b}";
    const skipper = createSkipper(source);
    expect([13, 3, 0, 13].map((open) => skipper.endOf(open))).toEqual([15, undefined, 2, 15]);
  });
});

function functionBodies(source: string): readonly { readonly start: number; readonly end: number }[] {
  const bodies: { start: number; end: number }[] = [];
  const options: Options = { ecmaVersion: "latest", sourceType: "module" };
  // The parser's own nodes, as it finishes them.
  const Listening = Parser.extend((Base) => {
    const Inner = Base as unknown as new (...all: unknown[]) => { finishNode(node: Node, type: string): Node };
    return class extends Inner {
      override finishNode(node: Node, type: string): Node {
        const finished = super.finishNode(node, type);
        if (/Function/.test(type) && finished.body?.type === "BlockStatement") bodies.push(finished.body);
        return finished;
      }
    } as unknown as typeof Parser;
  });
  Listening.parse(source, options);
  return bodies;
}

interface Body {
  readonly start: number;
  readonly end: number;
}
interface Node {
  readonly body?: Body & { readonly type: string };
}
