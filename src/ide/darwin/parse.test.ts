import { readFileSync } from "node:fs";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { anyCharacter } from "../../../test/support/any-character.ts";
import { classify } from "../process/classify.ts";
import { parseLsof, parsePs, parsePsEnvironment, parseSocket } from "./parse.ts";

const fixture = (name: string) => readFileSync(new URL(`fixtures/${name}`, import.meta.url), "utf8");

describe("what ps prints on macOS", () => {
  const rows = parsePs(fixture("ps.txt"));
  const row = (pid: number) => rows.find((candidate) => candidate.pid === pid);

  it("gives every process, and nothing that is none", () => {
    expect(rows.map(({ pid }) => pid)).toEqual([1, 312, 4242, 4300, 4301, 4400, 4500]);
    expect(row(4242)).toMatchObject({
      parentPid: 312,
      uid: 501,
      zombie: false,
      startedAtMs: Date.UTC(2026, 0, 31, 10, 2, 11),
    });
    expect(row(4301)?.startedAtMs).toBe(Date.UTC(2026, 1, 1, 9, 13, 0));
    expect(row(4400)?.zombie).toBe(true);
    expect(row(4500)?.uid).toBe(4_294_967_294);
  });

  it.each([
    [4242, "windsurf"],
    [4300, "windsurf-next"],
    [4301, "antigravity"],
  ])("shows process %s to be %s", (pid, variant) => {
    expect(classify(row(pid)?.command ?? { program: "", args: [] })).toMatchObject({ kind: "server", variant });
  });

  it("keeps variables apart although values hold blanks", () => {
    const variables = parsePsEnvironment(fixture("ps-environment.txt"));
    expect(Object.fromEntries(variables)).toEqual({
      CODEIUM_EDITOR_APP_ROOT: "/Applications/Windsurf.app/Contents/Resources/app",
      HOME: "/Users/ann lee",
      WINDSURF_CSRF_TOKEN: "0f0e0d0c-1111-4222-8333-444455556666",
    });
  });
});

describe("letters of other languages in the output of ps", () => {
  const programOf = (path: string) =>
    parsePs(`  42     1   501 Sat Jan 31 10:02:11 2026     S    ${path} --ide_name windsurf`)[0]?.command.program;

  it.each([
    ["as they are", "/Users/Jörg/bin/language_server_macos_arm"],
    ["as the language C shows their bytes", "/Users/JM-CM-6rg/bin/language_server_macos_arm"],
    ["the same, with backslashes", "/Users/J\\M-C\\M-6rg/bin/language_server_macos_arm"],
    ["by octal numbers", "/Users/J\\303\\266rg/bin/language_server_macos_arm"],
  ])("are read %s", (_, path) => {
    expect(programOf(path)).toBe("/Users/Jörg/bin/language_server_macos_arm");
    expect(parsePsEnvironment(`${path} HOME=${path.replace("/bin", " x/bin")}`).get("HOME")).toBe(
      "/Users/Jörg x/bin/language_server_macos_arm",
    );
  });

  it.each(["/a/M-C/x", "/a/M-CM-C/x", "/a/M-1M-2/x", "C:\\303\\2"])("%j is what it is", (path) => {
    expect(programOf(path)).toBe(path);
  });

  it("of a byte whose lower half is a control character, and of two pairs", () => {
    expect(programOf("/Users/groM-CM^_M-CM-$/x")).toBe("/Users/großä/x");
  });
});

/* Hand-written in the forms that ps(1) and lsof(8) of macOS document; releases differ in the width of columns and in the order of day and month. */
describe.each([
  ["14", "    1     0     0 Mon Nov  3 08:00:01 2025     Ss   /sbin/launchd", "n127.0.0.1:49154"],
  ["15", "  1   0   0 Mon  3 Nov 08:00:01 2025 Ss /sbin/launchd", "n[::1]:49154"],
  ["26", "    1     0     0 Mon Nov 03 08:00:01 2025     Ss+  /sbin/launchd", "n*:49154"],
])("macOS %s", (_, line, socket) => {
  it("lists processes and sockets", () => {
    expect(parsePs(`${line}\n`)).toMatchObject([
      { pid: 1, parentPid: 0, startedAtMs: Date.UTC(2025, 10, 3, 8, 0, 1), command: { program: "/sbin/launchd" } },
    ]);
    expect(parseLsof(`p4242\nf21\nPTCP\n${socket}\nTST=LISTEN\n`)).toMatchObject([{ pid: 4242, port: 49_154 }]);
  });
});

describe("what lsof prints", () => {
  it("is read as a table and by field", () => {
    const own = [
      { pid: 4242, address: "127.0.0.1", port: 49_154 },
      { pid: 4242, address: "::1", port: 49_155 },
    ];
    expect(parseLsof(fixture("lsof.txt")).slice(0, 3)).toEqual([...own, { pid: 700, address: "0.0.0.0", port: 7000 }]);
    expect(parseLsof(fixture("lsof-fields.txt"))).toEqual([
      ...own,
      { pid: 4242, address: "fe80::1", port: 49_156 },
      { pid: 700, address: "0.0.0.0", port: 7000 },
    ]);
  });

  it.each(["", "127.0.0.1", "127.0.0.1:0", "127.0.0.1:65536", "localhost:80", "[::1:80", "*:*"])(
    "is no socket: %s",
    (text) => {
      expect(parseSocket(text)).toBeUndefined();
    },
  );
});

it("random bytes and mixed-up lines never crash a parser", () => {
  const real = [
    ...fixture("ps.txt").split("\n"),
    ...fixture("lsof.txt").split("\n"),
    ...fixture("lsof-fields.txt").split("\n"),
  ];
  const mutated = fc
    .tuple(fc.constantFrom(...real), fc.nat(200), fc.string({ unit: anyCharacter, maxLength: 20 }))
    .map(([line, at, noise]) => line.slice(0, at) + noise + line.slice(at + noise.length));
  const property = fc.property(fc.array(fc.oneof(mutated, fc.string({ unit: anyCharacter }))), (lines) => {
    const text = lines.join("\n");
    parsePs(text);
    parsePsEnvironment(text);
    for (const { port } of parseLsof(text)) if (!(port > 0 && port < 65_536)) return false;
    return true;
  });
  expect(() => fc.assert(property)).not.toThrow();
});

it("a line of a million characters is read in no time", () => {
  for (const piece of [" ", "1 ", "A=", " A=", "-", "\\", "p"]) {
    const text = piece.repeat(1_000_000 / piece.length);
    expect(parsePs(text)).toEqual([]);
    expect(parseLsof(text)).toEqual([]);
    expect(parsePsEnvironment(text).size).toBeLessThan(3);
  }
});
