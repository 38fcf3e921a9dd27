import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { anyCharacter } from "../../../test/support/any-character.ts";
import { classify, looksLikeServer } from "./classify.ts";
import { splitUnquoted, splitWindows } from "./command-line.ts";

const windsurfFlags =
  "--api_server_url https://server.self-serve.windsurf.com --run_child --enable_lsp --extension_server_port 41000 --ide_name windsurf" +
  " --random_port --workspace_id file_home_me_antigravity --codeium_dir .codeium/windsurf --windsurf_version 2.2.17 --stdin_initial_metadata";

/** Command lines as they were seen. Source: docs/dev/wire/processes.md, "Arguments". */
const servers: readonly [string, string][] = [
  ["windsurf", `/usr/share/windsurf/resources/app/extensions/windsurf/bin/language_server_linux_x64 ${windsurfFlags}`],
  [
    "windsurf",
    `/Applications/Windsurf.app/Contents/Resources/app/extensions/windsurf/bin/language_server_macos_arm ${windsurfFlags}`,
  ],
  ["windsurf", `/home/antigravity/windsurf/bin/language_server_linux_x64 ${windsurfFlags}`],
  [
    "windsurf",
    "/Applications/Windsurf.app/Contents/Resources/app/extensions/windsurf/bin/language_server_macos_x64 --run_child",
  ],
  [
    "windsurf",
    "/tmp/.mount_WindsuAb12/usr/share/windsurf/resources/app/extensions/windsurf/bin/language_server_linux_x64 --random_port",
  ],
  ["windsurf", "/snap/windsurf/12/resources/app/extensions/windsurf/bin/language_server_linux_x64 --ide_name=windsurf"],
  ["windsurf", "/home/me/.windsurf-server/bin/0a1b/extensions/windsurf/bin/language_server_linux_arm --random_port"],
  ["windsurf", "/x/renamed_by_an_update --ide_name windsurf --extension_server_port 41000 --random_port"],
  ["windsurf-next", "/x/language_server_linux_x64 --ide_name windsurf-next --random_port"],
  [
    "windsurf-next",
    "/Applications/Windsurf - Next.app/Contents/Resources/app/extensions/windsurf/bin/language_server_macos_arm --run_child",
  ],
  ["windsurf-next", "/x/language_server_linux_x64 --codeium_dir .codeium/windsurf-next --random_port"],
  [
    "windsurf",
    "/usr/share/devin-desktop/resources/app/extensions/windsurf/bin/language_server_linux_x64 --random_port",
  ],
  ["windsurf", `/Applications/Devin.app/Contents/Resources/app/extensions/windsurf/bin/ls_renamed ${windsurfFlags}`],
  [
    "windsurf",
    "/Applications/Windsurf 2.app/Contents/Resources/app/extensions/windsurf/bin/language_server_macos_arm --run_child",
  ],
  ["windsurf", "/Applications/Devin 2.app/Contents/Resources/bin/language_server_macos_arm --random_port"],
  ["windsurf", "/usr/share/devin-desktop/resources/bin/language_server_linux_x64 --random_port"],
  ["windsurf", "/home/me/apps/Devin/resources/bin/language_server_linux_x64 --random_port"],
  ["antigravity", "/opt/antigravity/resources/bin/language-server --app_data_dir antigravity"],
  ["antigravity", "/opt/antigravity/resources/bin/language-server-linux-x64 --app_data_dir antigravity"],
  [
    "windsurf-next",
    "/Applications/Devin - Next.app/Contents/Resources/app/extensions/windsurf/bin/language_server_macos_arm --run_child",
  ],
  [
    "windsurf-next",
    "/usr/share/devin-desktop-next/resources/app/extensions/windsurf/bin/language_server_linux_x64 --random_port",
  ],
  [
    "antigravity",
    "/Applications/Devin.app/Contents/Resources/app/extensions/windsurf/bin/language_server_macos_arm --ide_name windsurf --app_data_dir antigravity",
  ],
  ["antigravity", "/home/devin/Antigravity/bin/language_server_linux_x64 --random_port"],
  [
    "antigravity",
    "/opt/Antigravity/resources/app/extensions/antigravity/bin/language_server_linux_x64 --enable_lsp --random_port",
  ],
  ["antigravity", "/x/language_server --csrf_token u --app_data_dir antigravity-ide --workspace_id file_windsurf"],
  ["antigravity", "/x/language_server --standalone --override_ide_name antigravity --https_server_port 0"],
  ["antigravity", "/x/language_server_linux_x64 --ide_name windsurf --app_data_dir antigravity"],
  ["antigravity", "/Applications/Antigravity IDE.app/Contents/Resources/bin/language_server --random_port"],
  ["antigravity", "/home/me/.local/bin/agy -continue"],
];

describe("classify", () => {
  it.each(servers)("knows %s by %s", (variant, text) => {
    expect(classify(splitUnquoted(text))).toMatchObject({ kind: "server", variant });
    expect(looksLikeServer(splitUnquoted(text)) || text.includes("--ide_name")).toBe(true);
  });

  it("knows Windsurf on Windows", () => {
    const text = String.raw`"C:\Users\me\AppData\Local\Programs\Windsurf\resources\app\extensions\windsurf\bin\language_server_windows_x64.exe" --random_port`;
    expect(classify(splitWindows(text))).toMatchObject({ kind: "server", variant: "windsurf", rule: "path" });
    const next = text.replace("Windsurf\\", "Windsurf - Next\\");
    expect(classify(splitWindows(next))).toMatchObject({ variant: "windsurf-next" });
    const devin = text.replace("Windsurf\\", "Devin\\");
    expect(classify(splitWindows(devin))).toMatchObject({ variant: "windsurf", rule: "path" });
  });

  it.each([
    ["an older Codeium extension", "/home/me/.codeium/bin/1a2b/language_server_linux_x64 --enable_lsp", "no-marker"],
    [
      "the same of a person called Devin",
      "/home/devin/.codeium/bin/1a2b/language_server_linux_x64 --enable_lsp",
      "no-marker",
    ],
    ["another IDE", "/x/language_server_linux_x64 --ide_name jetbrains --random_port", "ide-name"],
    ["a name that only starts like ours", "/x/language_server_linux_x64 --ide_name windsurf-insiders", "ide-name"],
    [
      "an editor that has the file open",
      "/usr/bin/vim /usr/share/windsurf/bin/language_server_linux_x64",
      "not-a-server",
    ],
    ["a search for the process", "/usr/bin/grep --ide_name windsurf", "not-a-server"],
    ["the log of one", "tail -f /var/log/language_server.log", "not-a-server"],
    ["a call for help", "/usr/share/windsurf/extensions/windsurf/bin/language_server_linux_x64 --help", "not-a-server"],
  ])("rejects %s", (_, text, rule) => {
    expect(classify(splitUnquoted(text))).toMatchObject({ kind: "other", rule });
  });

  it("takes a whole path with blanks for no server of ours when a shell only mentions it", () => {
    const shell = {
      program: "/bin/sh",
      args: ["-c", "exec language_server_linux_x64 --ide_name windsurf --random_port"],
    };
    expect(looksLikeServer(shell)).toBe(true);
    expect(classify(shell)).toMatchObject({ kind: "other", rule: "not-a-server" });
  });

  it("puts nothing unprintable into its reasons", () => {
    const shown = fc.property(fc.string({ unit: anyCharacter }), (name) => {
      const result = classify({ program: "/x/language_server_linux_x64", args: [`--ide_name=${name}`] });
      return result.kind === "server" || /^[\x20-\x7e…]*$/.test(result.why);
    });
    expect(() => fc.assert(shown)).not.toThrow();
  });

  it("never crashes on any command line", () => {
    const property = fc.property(fc.string(), fc.array(fc.string({ unit: anyCharacter })), (program, args) => {
      looksLikeServer({ program, args });
      classify({ program, args });
    });
    expect(() => fc.assert(property)).not.toThrow();
  });
});
