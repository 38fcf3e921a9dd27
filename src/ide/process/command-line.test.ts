import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { lastFlag, parseFlags, portFlag, splitUnquoted, splitWindows } from "./command-line.ts";

describe("flags", () => {
  it("takes both spellings, one dash or two", () => {
    const flags = parseFlags([
      "--ide_name",
      "windsurf",
      "--csrf_token=abc",
      "-app_data_dir",
      "antigravity",
      "--run_child",
    ]);
    expect(lastFlag(flags, "ide_name")).toBe("windsurf");
    expect(lastFlag(flags, "csrf_token")).toBe("abc");
    expect(lastFlag(flags, "app_data_dir")).toBe("antigravity");
    expect(lastFlag(flags, "run_child")).toBe("");
    expect(lastFlag(flags, "absent")).toBeUndefined();
  });

  it("does not take a flag for another one's value, nor a name inside a longer name", () => {
    const flags = parseFlags(["--csrf_token", "--extension_server_csrf_token", "other"]);
    expect(lastFlag(flags, "csrf_token")).toBe("");
    expect(lastFlag(flags, "extension_server_csrf_token")).toBe("other");
  });

  it.each([["0"], ["65536"], ["-1"], ["12x"], [""], ["999999"]])("is no port: %s", (text) => {
    expect(portFlag(parseFlags([`--server_port=${text}`]), "server_port")).toBeUndefined();
  });

  it("never crashes on any words", () => {
    const property = fc.property(fc.array(fc.string()), (words) => parseFlags(words) instanceof Map);
    expect(() => fc.assert(property)).not.toThrow();
  });
});

describe("a command line without quotes", () => {
  it("keeps blanks in the program's path and in values", () => {
    const text =
      "/Applications/Windsurf - Next.app/Contents/Resources/app/extensions/windsurf/bin/language_server_macos_arm" +
      " --ide_name windsurf-next --database_dir /Users/a b/.codeium/db --run_child --detect_proxy=false";
    const { program, args } = splitUnquoted(text);
    expect(program).toBe(
      "/Applications/Windsurf - Next.app/Contents/Resources/app/extensions/windsurf/bin/language_server_macos_arm",
    );
    const flags = parseFlags(args);
    expect(lastFlag(flags, "ide_name")).toBe("windsurf-next");
    expect(lastFlag(flags, "database_dir")).toBe("/Users/a b/.codeium/db");
    expect(lastFlag(flags, "run_child")).toBe("");
    expect(lastFlag(flags, "detect_proxy")).toBe("false");
  });

  it("never crashes on any text", () => {
    const property = fc.property(
      fc.string({ size: "large" }),
      (text) => typeof splitUnquoted(text).program === "string",
    );
    expect(() => fc.assert(property)).not.toThrow();
  });
});

describe("a Windows command line", () => {
  it("takes quotes off and leaves backslashes of paths alone", () => {
    const text = String.raw`"C:\Users\a b\AppData\Local\Programs\Windsurf\bin\language_server_windows_x64.exe" --ide_name windsurf --parent_pipe_path \\.\pipe\server_1f "--x=a \"b\" c\\" ""`;
    expect(splitWindows(text)).toEqual({
      program: String.raw`C:\Users\a b\AppData\Local\Programs\Windsurf\bin\language_server_windows_x64.exe`,
      args: [
        "--ide_name",
        "windsurf",
        "--parent_pipe_path",
        String.raw`\\.\pipe\server_1f`,
        String.raw`--x=a "b" c\ `.trimEnd(),
        "",
      ],
    });
  });

  it("gives back every list of words that was quoted by its rules", () => {
    const quote = (word: string) => `"${word.replaceAll(/(\\*)"/g, String.raw`$1$1\"`).replace(/(\\*)$/, "$1$1")}"`;
    const word = fc.string({ unit: fc.constantFrom("a", " ", '"', "\\", "-", "\t", "é") });
    fc.assert(
      fc.property(fc.array(word), (words) => {
        const { program, args } = splitWindows(["p.exe", ...words.map(quote)].join(" "));
        expect({ program, args }).toEqual({ program: "p.exe", args: words });
      }),
    );
  });
});
