import { execFileSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { powershellErrors } from "../../../test/support/powershell.ts";
import { addToFile, commandLine, setFromCommand, setVariable, shellOf, shellWord } from "./shell.ts";

const spaced = ["C:\\Program Files\\node.exe", "C:\\m r\\bin.js", "keys", "--value"];
const named = ["millrace", "keys", "--value"];

describe("lines for a shell", () => {
  it("set a variable from a command", () => {
    expect(setFromCommand("K", named, "sh")).toBe('export K="$(millrace keys --value)"');
    expect(setFromCommand("K", named, "powershell")).toBe("$env:K = millrace keys --value");
    expect(setFromCommand("K", spaced, "powershell")).toBe(
      "$env:K = & 'C:\\Program Files\\node.exe' 'C:\\m r\\bin.js' keys --value",
    );
    expect(setFromCommand("K", named, "cmd")).toBe(`for /f "delims=" %k in ('millrace keys --value') do @set K=%k`);
    expect(setFromCommand("K", spaced, "cmd")).toBe(
      `for /f "delims=" %k in ('""C:\\Program Files\\node.exe" "C:\\m r\\bin.js" keys --value"') do @set K=%k`,
    );
  });

  it("set a variable to a text, and add one to a file", () => {
    expect(setVariable("U", "it's", "sh")).toBe("export U='it'\\''s'");
    expect(setVariable("U", "it's", "powershell")).toBe("$env:U = 'it''s'");
    expect(setVariable("U", "http://x/v1", "cmd")).toBe('set "U=http://x/v1"');
    const file = [".continue", ".env"];
    expect(addToFile("K", named, file, "sh")).toBe('echo "K=$(millrace keys --value)" >> ~/.continue/.env');
    expect(addToFile("K", named, file, "powershell")).toBe(
      'Add-Content "$HOME\\.continue\\.env" ("K=" + (millrace keys --value))',
    );
    expect(addToFile("K", named, file, "cmd")).toContain('@echo K=%k>> "%USERPROFILE%\\.continue\\.env"');
  });

  it.each(["plain", "a b", "it's", '$(x) `x` "', "‘quoted’"])(
    "are statements of PowerShell, with %j in them",
    async (word) => {
      const command = [`C:\\${word}\\node.exe`, "keys", "--value"];
      const lines = [
        commandLine(command, "powershell"),
        setVariable("U", word, "powershell"),
        setFromCommand("K", command, "powershell"),
        addToFile("K", command, [".continue", ".env"], "powershell"),
      ];
      expect(await powershellErrors(`${lines.join("\n")}\n`)).toEqual([]);
    },
  );

  it.runIf(process.platform !== "win32").each(["", "a b", "$(id) `id` \"'\\", "-n", "ä\n"])(
    "keep %j a word of sh",
    (text) => {
      const line = commandLine(["printf", "%s", text], "sh");
      expect(execFileSync("/bin/sh", ["-c", line], { encoding: "utf8" })).toBe(text);
      expect(shellWord("plain-1", "sh")).toBe("plain-1");
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
