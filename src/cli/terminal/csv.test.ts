import { describe, expect, it } from "vitest";
import { csv } from "./csv.ts";

describe("CSV", () => {
  it("has a header, CRLF lines, and quotes what needs them", () => {
    const rows = [
      { a: 'say "hi", twice', b: 1.5, c: null },
      { a: "line\nbreak", b: true },
    ];
    expect(csv(rows, ["a", "b", "c"])).toBe('a,b,c\r\n"say ""hi"", twice",1.5,\r\n"line\nbreak",true,\r\n');
  });

  it.each(["=1+1", "+1", "-1", "@SUM(A1)", "\tx"])("makes %j a text for a spreadsheet", (text) => {
    expect(csv([{ a: text }], ["a"])).toBe(`a\r\n'${text}\r\n`);
  });

  it("leaves numbers alone, negative ones too", () => {
    expect(csv([{ a: -1.2 }], ["a"])).toBe("a\r\n-1.2\r\n");
  });
});
