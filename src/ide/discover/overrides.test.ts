import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { anyCharacter } from "../../../test/support/any-character.ts";
import { isMillraceError } from "../../base/errors.ts";
import { parseTokenFile } from "../process/token-file.ts";
import { parseEndpoint, parseOverrides } from "./overrides.ts";

describe("overrides", () => {
  it.each([
    ["127.0.0.1:42101", "127.0.0.1", 42_101],
    ["42101", "127.0.0.1", 42_101],
    ["[::1]:42101", "::1", 42_101],
    ["https://windows-host.local:42101/", "windows-host.local", 42_101],
  ])("take %s as an address", (text, host, port) => {
    expect(parseEndpoint(text)).toEqual({ host, port });
  });

  it.each(["", "localhost", "host:0", "host:65536", "a b:1", "http://x:1/path", "user@host:1"])("refuse %s", (text) => {
    expect(() => parseEndpoint(text)).toThrow(/not the address/);
  });

  it("come from the environment; empty ones count as absent", () => {
    expect(parseOverrides({ MILLRACE_IDE_ENDPOINT: " ", MILLRACE_IDE_VARIANT: "" }).endpoint).toBeUndefined();
    const homes = (text: string) => parseOverrides({ MILLRACE_IDE_HOMES: text }).homes;
    expect(homes("/a/b:/c")).toEqual(["/a/b", "/c"]);
    expect(homes(String.raw`C:\Users\a;D:\b`)).toEqual([String.raw`C:\Users\a`, String.raw`D:\b`]);
    expect(() => parseOverrides({ MILLRACE_IDE_VARIANT: "vscode" })).toThrow(/not an IDE/);
  });
});

describe("a token file", () => {
  it.each(['{"csrfToken":"tok","apiKey":"sk-ws-01-key"}', "tok\nsk-ws-01-key\n", "tok\r\nsk-ws-01-key"])(
    "may be written so: %j",
    (text) => {
      const { csrf, apiKey } = parseTokenFile(text, "/t");
      expect([csrf.token.reveal(), apiKey?.reveal()]).toEqual(["tok", "sk-ws-01-key"]);
    },
  );

  it("fails without a word of what it holds", () => {
    const property = fc.property(fc.string({ unit: anyCharacter, minLength: 3 }), (noise) => {
      try {
        parseTokenFile(`{ planted-secret ${noise}`, "/t");
        return false; // what is neither JSON nor a token cannot be taken
      } catch (error) {
        return isMillraceError(error) && !JSON.stringify(error.toRecord()).includes("planted-secret");
      }
    });
    expect(() => fc.assert(property)).not.toThrow();
  });
});
