import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readDirectives } from "./directives.ts";

describe("directives in a prompt", () => {
  it("are read wherever they stand and taken out of the text", () => {
    expect(readDirectives("count to 3 [[sim: error=rate_limit error-after=20]] please")).toEqual({
      plan: { error: "rate_limit", errorAfter: 20 },
      text: "count to 3  please",
      problems: [],
    });
  });

  it("take quoted values with spaces, escapes and brackets", () => {
    expect(readDirectives('[[sim: text="a \\"b\\"\\nc [d] e" empty=false]]').plan).toEqual({
      text: 'a "b"\nc [d] e',
      empty: false,
    });
  });

  it("let later ones win, and reset forgets what came before", () => {
    expect(readDirectives("[[sim: size=1 forge]] x [[sim: size=2]]").plan).toEqual({ size: 2, forge: true });
    expect(readDirectives("[[sim: error=quota]] x [[sim: reset size=3]]").plan).toEqual({ size: 3 });
  });

  it("report what they do not understand and keep the rest", () => {
    const { plan, problems } = readDirectives("[[sim: eror=quota size=-1 forge]]");
    expect(plan).toEqual({ forge: true });
    expect(problems.map((problem) => problem.split(":")[0])).toEqual(["eror", "size"]);
  });

  it("never fail, for any content", () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (before, body) => {
        const read = readDirectives(`${before}[[sim:${body}]]`);
        expect(Array.isArray(read.problems)).toBe(true);
      }),
    );
  });
});
