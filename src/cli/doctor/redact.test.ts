import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { redactedJson, redactor } from "./redact.ts";

const known = {
  secrets: ["s3cret-csrf", "sk-ws-01-AbCdEf", "mr_0123456789abcdef"],
  home: "/home/ann",
  user: "ann",
  hostName: "ann-laptop",
};

describe("redaction", () => {
  it.each([
    ["token s3cret-csrf here", "token [redacted] here"],
    ["key sk-ws-02-NeverSeenBefore.", "key [key]."],
    ["Authorization: Bearer abc.def-123", "Authorization: Bearer [key]"],
    ["jwt eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln end", "jwt [token] end"],
    ["devin-session-token$eyJhbGciOiJIUzI1NiJ9.x.y", "devin-session-token$[token]"],
    ['"csrf_token": "0f0e0d0c-xx"', '"csrf_token": "[redacted]"'],
    ["--csrf_token=abcdefgh --next", "--csrf_token=[redacted] --next"],
    ["/home/ann/.config/Windsurf", "~/.config/Windsurf"],
    ["C:\\Users\\ann\\AppData", "C:\\Users\\[user]\\AppData"],
    ["the channel of ann", "the channel of [user]"],
    ["ann@example.org wrote", "[user]@example.org wrote"],
    ["bob@example.org wrote", "[e-mail] wrote"],
    ["http://me:pass@proxy:80", "http://[redacted]@proxy:80"],
    ["A1b2C3d4".repeat(8), "[redacted]"],
    ["port 42101, pid 4242, build 2.2.17", "port 42101, pid 4242, build 2.2.17"],
  ])("turns %j into %j", (text, clean) => {
    expect(redactor(known)(text)).toBe(clean);
  });

  it.each([
    [
      { home: "C:\\Users\\Al", user: "Al", hostName: "PC" },
      "C:\\Users\\Al\\.codeium, c:/users/al/x, Also",
      "~\\.codeium, ~/x, Also",
    ],
    [
      { home: "/Users/j\u00f6rg", user: "j\u00f6rg", hostName: "mac" },
      "/Users/jo\u0308rg/.codeium, /users/J\u00f6rg/x, by jo\u0308rg",
      "~/.codeium, ~/x, by [user]",
    ],
    [
      { home: "C:\\Users\\Ann Lee", user: "Ann Lee", hostName: "PC" },
      "C:\\Users\\Ann Lee\\x of Ann Lee",
      "~\\x of [user]",
    ],
    [
      { home: "/home/al", user: "al", hostName: "x" },
      "/home/al/a, D:\\Users\\al\\b, al@box, also all",
      "~/a, D:\\Users\\[user]\\b, [user]@box, also all",
    ],
  ])("hides home and short names in a JSON report of %j", (names, text, clean) => {
    const json = redactedJson({ paths: [text] }, redactor({ secrets: [], ...names }));
    expect(JSON.parse(json)).toEqual({ paths: [clean] });
  });

  it("hides a secret by its name in a report", () => {
    expect(redactedJson({ csrf_token: "0f0e0d0c-xx" }, redactor(known))).toContain('"csrf_token": "[redacted]"');
  });

  it("numbers ids, the same one the same", () => {
    const [a, b] = ["0f0e0d0c-1111-4222-8333-444455556666", "1f0e0d0c-1111-4222-8333-444455556666"];
    expect(redactor(known)(`${a} ${b} ${a.toUpperCase()}`)).toBe("[id 1] [id 2] [id 1]");
  });

  it("never lets a known secret through, at any place and beside any other secret", () => {
    const secret = fc
      .string({ unit: "grapheme-ascii", minLength: 8, maxLength: 40 })
      .filter((text) => !/[[\]]|redacted/.test(text));
    const property = fc.property(
      fc.array(secret, { minLength: 1 }),
      fc.string(),
      fc.string(),
      (secrets, before, after) => {
        const clean = redactor({ ...known, secrets })(`${before}${secrets.join(" ")}${after}`);
        return secrets.every((one) => before.includes(one) || after.includes(one) || !clean.includes(one));
      },
    );
    expect(() => fc.assert(property)).not.toThrow();
  });
});
