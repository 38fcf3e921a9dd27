import { readFileSync } from "node:fs";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { anyCharacter } from "../../../test/support/any-character.ts";
import { looksLikeApp } from "../apps/installed-apps.ts";
import { serverVariables } from "../host/host.ts";
import { classify } from "../process/classify.ts";
import {
  parseCimDate,
  parseConnections,
  parseEnvironment,
  parseNetstat,
  parsePowerShellJson,
  parseProcesses,
} from "./parse.ts";
import { encodedArguments, environmentScript, listeningScript, listScript, processScript } from "./scripts.ts";

const fixture = (name: string) => readFileSync(new URL(`fixtures/${name}`, import.meta.url), "utf8");
const json = (name: string) => parsePowerShellJson(fixture(name));

describe("what PowerShell prints", () => {
  it("is one object for one process", () => {
    const list = parseProcesses(json("process-5.1.json"));
    expect(list).toMatchObject({
      looked: 231,
      processes: [{ pid: 4242, parentPid: 3120, owner: "self", startedAtMs: 1_769_853_731_123 }],
    });
    const command = list?.processes[0]?.command ?? { program: "", args: [] };
    expect(command.program).toMatch(/^C:\\Users\\Ann Lee\\.*language_server_windows_x64\.exe$/);
    expect(classify(command)).toMatchObject({ kind: "server", variant: "windsurf" });
  });

  it("is an array for many, with dates in every form and owners known or not", () => {
    const list = parseProcesses(json("processes-bare-array.json"));
    expect(list?.processes.map(({ pid, owner, startedAtMs }) => [pid, owner, startedAtMs])).toEqual([
      [4242, "self", 1_769_853_731_123],
      [5000, "unknown", Date.parse("2026-01-31T10:02:11.123+01:00")],
      [5001, "other", 1_769_853_731_000],
    ]);
    expect(list?.processes[0]?.command.program).toContain("Windsurf - Next");
  });

  it.each([
    ["\uFEFF[]\r\n", []],
    ["", []],
    ["WARNING: something\r\n{}", undefined],
    ['{"a":', undefined],
  ])("may be %j", (text, value) => {
    expect(parsePowerShellJson(text)).toEqual(value);
  });

  it("knows dates of CIM itself", () => {
    expect(parseCimDate("20260131100211.123456+060")).toBe(Date.parse("2026-01-31T10:02:11.123+01:00"));
    expect(parseCimDate("yesterday")).toBeUndefined();
  });

  it("is a table of names for the environment, and nothing else is taken", () => {
    expect(parseEnvironment({ APPDATA: "C:\\a" })?.get("APPDATA")).toBe("C:\\a");
    for (const other of [[], "x", null, { a: 1 }, undefined]) expect(parseEnvironment(other)).toBeUndefined();
  });
});

describe("the scripts", () => {
  it("let each variable that discovery reads out of PowerShell, the mark of a stand-in too", () => {
    const wanted = /\$wanted = '([^\n]*)'/.exec(environmentScript(1))?.[1]?.split("','");
    expect(wanted).toEqual([...serverVariables]);
    expect(wanted).toContain("MILLRACE_STAND_IN");
  });

  it("list an app wherever it lies, and none of its helpers", () => {
    const names = new RegExp(/-match '\^(\(\?:devin.*?)\$'/.exec(listScript)?.[1] ?? "nothing", "i");
    for (const name of ["Devin.exe", "devin.exe", "Devin - Next.exe", "Windsurf.exe", "windsurf-next.exe"]) {
      expect(name).toMatch(names);
      expect(looksLikeApp({ program: `D:\\odd place\\${name}`, args: [] })).toBe(true);
    }
    expect(listScript).toContain("-notmatch ' --type='");
  });
});

describe("listening sockets", () => {
  it("come from Get-NetTCPConnection: many, one or none", () => {
    const all = parseConnections(json("connections.json"));
    expect(all).toEqual([
      { pid: 4242, address: "127.0.0.1", port: 49_154 },
      { pid: 4242, address: "::1", port: 49_155 },
      { pid: 4, address: "fe80::1", port: 49_156 },
    ]);
    expect(parseConnections({ LocalAddress: "127.0.0.1", LocalPort: 1, OwningProcess: 9 })).toHaveLength(1);
    expect(parseConnections([])).toEqual([]);
  });

  it("come from netstat in any language", () => {
    expect(parseNetstat(fixture("netstat-german.txt"))).toEqual([
      { pid: 1140, address: "0.0.0.0", port: 135 },
      { pid: 4242, address: "127.0.0.1", port: 49_154 },
      { pid: 4242, address: "::1", port: 49_155 },
    ]);
  });
});

describe("the scripts", () => {
  it.each([listScript, listeningScript, processScript(42), environmentScript(42)])(
    "fit into a command line, encoded",
    (script) => {
      const args = encodedArguments(script);
      expect(Buffer.from(args.at(-1) ?? "", "base64").toString("utf16le")).toBe(script);
      expect(args.join(" ").length).toBeLessThan(32_000);
    },
  );

  it("hold the process's number and nothing else from outside", () => {
    expect(processScript(42.9)).toContain("'ProcessId = 42'");
    expect(environmentScript(42)).toContain("::Variables(42)");
  });
});

it("random answers never crash a parser", () => {
  const property = fc.property(
    fc.oneof(fc.string({ unit: anyCharacter }), fc.json(), fc.constant(fixture("netstat-german.txt"))),
    fc.jsonValue(),
    (text, value) => {
      for (const answer of [
        parsePowerShellJson(text),
        value,
        { Looked: 1, Processes: value },
        [value, { ProcessId: 1, CommandLine: text, CreationDate: value }],
      ]) {
        parseProcesses(answer);
        parseConnections(answer);
        parseEnvironment(answer);
        parseCimDate(answer);
      }
      parseNetstat(text);
    },
  );
  expect(() => fc.assert(property)).not.toThrow();
});
