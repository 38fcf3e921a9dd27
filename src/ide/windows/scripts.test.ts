import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { powershellErrors } from "../../../test/support/powershell.ts";
import { temporaryFolder } from "../../../test/support/temporary.ts";
import { looksLikeApp } from "../apps/installed-apps.ts";
import { looksLikeServer } from "../process/classify.ts";
import { environmentScript, listeningScript, listScript, processScript } from "./scripts.ts";

const scripts = { listScript, listeningScript, one: processScript(42), environment: environmentScript(42) };

it.each(Object.entries(scripts))("%s is a script of PowerShell", async (_, script) => {
  expect(await powershellErrors(script)).toEqual([]);
});

it("a script with a mistake is noticed", async () => {
  expect(await powershellErrors(listScript.replace("} | ConvertTo-Json", "| ConvertTo-Json"))).not.toEqual([]);
});

const hasCompiler = spawnSync("mcs", ["--version"]).status === 0;
it.skipIf(!hasCompiler)("the C# in it compiles as C# 5, which Windows PowerShell 5.1 compiles at most", () => {
  const folder = temporaryFolder();
  const source = /@'\n([\s\S]*?)\n'@/.exec(environmentScript(1))?.[1] ?? "";
  writeFileSync(join(folder, "peb.cs"), source);
  const args = ["-langversion:5", "-warnaserror", "-target:library", "-out:peb.dll", "peb.cs"];
  const { status, stdout, stderr } = spawnSync("mcs", args, { cwd: folder, encoding: "utf8" });
  expect({ status, said: stdout + stderr }).toEqual({ status: 0, said: "" });
});

/** What `Where-Object` of the list script lets through: `-match` knows no case. */
function isListed(name: string, line: string): boolean {
  const [server = "", app = "", helper = "", words = ""] = [...listScript.matchAll(/match '([^']*)'/g)].map(
    ([, text]) => text,
  );
  const has = (pattern: string, text: string) => new RegExp(pattern, "i").test(text);
  return has(server, name) || (has(app, name) && !has(helper, line)) || has(words, line);
}

it("the list has every program that discovery takes for a server or an app", () => {
  const commands = [
    ["C:\\a\\language_server_windows_x64.exe"],
    ["C:\\a\\language-server.exe", "--standalone"],
    ["C:\\a\\agy.exe"],
    ["C:\\a\\antigravity-cli.exe"],
    ["C:\\a\\wrapper.exe", "C:\\b\\language_server_windows_x64.exe"],
    ["C:\\a\\wrapper.exe", "antigravity-cli"],
    ["C:\\a\\other.exe", "--ide_name", "windsurf"],
    ["C:\\a\\other.exe", "--app_data_dir=antigravity"],
    ["C:\\a\\other.exe", "--override_ide_name", "antigravity"],
    ["C:\\a\\Devin.exe"],
    ["C:\\a\\Devin - Next.exe"],
    ["C:\\a\\Windsurf.exe"],
    ["C:\\a\\Windsurf - Next.exe"],
  ];
  const missed = commands.filter(([program = "", ...args]) => {
    const isMeant = looksLikeServer({ program, args }) || looksLikeApp({ program, args });
    return !isMeant || !isListed(program.slice(program.lastIndexOf("\\") + 1), [program, ...args].join(" "));
  });
  expect(missed).toEqual([]);
  expect(isListed("notepad.exe", "notepad.exe C:\\devin.txt")).toBe(false);
  expect(isListed("Devin.exe", "Devin.exe --type=renderer")).toBe(false);
});
