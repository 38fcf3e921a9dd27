import { execFileSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { powershellErrors } from "../../../test/support/powershell.ts";
import { setVariable, shellOf } from "./shell.ts";

describe("lines for a shell", () => {
  it("set a variable to a text", () => {
    expect(setVariable("U", "it's", "sh")).toBe("export U='it'\\''s'");
    expect(setVariable("U", "it's", "powershell")).toBe("$env:U = 'it''s'");
    expect(setVariable("U", "http://x/v1", "cmd")).toBe('set "U=http://x/v1"');
  });

  it.each(["plain", "a b", "it's", '$(x) `x` "', "‘quoted’"])(
    "are statements of PowerShell, with %j in them",
    async (word) => {
      expect(await powershellErrors(`${setVariable("U", word, "powershell")}\n`)).toEqual([]);
    },
  );

  it.runIf(process.platform !== "win32").each(["", "a b", "$(id) `id` \"'\\", "-n", "ä\n"])(
    "keep %j as it is in sh",
    (text) => {
      const line = `${setVariable("U", text, "sh")}; printf %s "$U"`;
      expect(execFileSync("/bin/sh", ["-c", line], { encoding: "utf8" })).toBe(text);
    },
  );
});

it("knows the shell by what it leaves in the environment", () => {
  const system =
    "C:\\Program Files\\WindowsPowerShell\\Modules;C:\\Windows\\system32\\WindowsPowerShell\\v1.0\\Modules";
  expect(shellOf({ platform: "linux", env: {} })).toBe("sh");
  expect(shellOf({ platform: "win32", env: {} })).toBe("powershell");
  expect(shellOf({ platform: "win32", env: { MSYSTEM: "MINGW64" } })).toBe("sh");
  expect(shellOf({ platform: "win32", env: { PROMPT: "$P$G", PSModulePath: system } })).toBe("cmd");
  const own = `C:\\Users\\me\\Documents\\WindowsPowerShell\\Modules;${system}`;
  expect(shellOf({ platform: "win32", env: { PROMPT: "$P$G", PSModulePath: own } })).toBe("powershell");
});
