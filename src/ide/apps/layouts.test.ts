import { describe, expect, it } from "vitest";
import { dataFolderOf, extensionFolderOf, isOfHome, type StateQuestion, stateFileOf, statePlaces } from "./layouts.ts";

const base: StateQuestion = {
  platform: "linux",
  variant: "windsurf",
  environment: undefined,
  userDataDir: undefined,
  homes: ["/home/me"],
  sandboxes: new Map(),
};
const tail = "User/globalStorage/state.vscdb";
const stateFiles = (question: StateQuestion) => statePlaces(question).flatMap(({ files }) => files);

it.each([
  ["darwin", "/Users/j\u00f6rg", "/users/Jo\u0308rg", true],
  ["windows", "C:\\Users\\Ann", "c:/users/ann", true],
  ["linux", "/home/ann", "/home/Ann", false],
  ["linux", "/home/j\u00f6rg", "/home/jo\u0308rg", false],
] as const)("on %s %j is the home %j: %j", (platform, home, said, same) => {
  const variable = platform === "windows" ? "USERPROFILE" : "HOME";
  expect(isOfHome(home, platform, new Map([[variable, said]]))).toBe(same);
});

describe("where state.vscdb may be", () => {
  it("is the configuration folder on Linux, then the sandboxes, then the remote server's", () => {
    const sandboxes = new Map([["/home/me", { flatpak: ["com.windsurf.Windsurf"], snap: ["windsurf"] }]]);
    expect(stateFiles({ ...base, sandboxes })).toEqual([
      `/home/me/.config/Devin/${tail}`,
      `/home/me/.config/Windsurf/${tail}`,
      `/home/me/.var/app/com.windsurf.Windsurf/config/Devin/${tail}`,
      `/home/me/.var/app/com.windsurf.Windsurf/config/Windsurf/${tail}`,
      `/home/me/snap/windsurf/current/.config/Devin/${tail}`,
      `/home/me/snap/windsurf/current/.config/Windsurf/${tail}`,
      `/home/me/.devin-server/data/${tail}`,
      `/home/me/.windsurf-server/data/${tail}`,
    ]);
  });

  it("puts the old and the new folder of one place together, and what the process names alone", () => {
    expect(statePlaces({ ...base, userDataDir: "/tmp/ud" }).slice(0, 2)).toEqual([
      { by: "named", files: [`/tmp/ud/${tail}`] },
      { by: "searched", files: [`/home/me/.config/Devin/${tail}`, `/home/me/.config/Windsurf/${tail}`] },
    ]);
  });

  it("names each file once, also when the process names one of those that are searched", () => {
    const files = stateFiles({ ...base, userDataDir: "/home/me/.config/Devin" });
    expect(files.filter((file) => file.includes(".config/Devin"))).toHaveLength(1);
  });

  it("is what the process says of itself, before anything else", () => {
    const environment = new Map([
      ["HOME", "/home/demo"],
      ["XDG_CONFIG_HOME", "/home/demo/cfg"],
      ["VSCODE_PORTABLE", "/usb/data"],
    ] as const);
    expect(stateFiles({ ...base, environment, userDataDir: "/tmp/ud" })).toEqual([
      `/tmp/ud/${tail}`,
      `/usb/data/user-data/${tail}`,
      `/home/demo/cfg/Devin/${tail}`,
      `/home/demo/cfg/Windsurf/${tail}`,
      `/home/demo/.config/Devin/${tail}`,
      `/home/demo/.config/Windsurf/${tail}`,
      `/home/demo/.devin-server/data/${tail}`,
      `/home/demo/.windsurf-server/data/${tail}`,
    ]);
  });

  it("is Application Support on macOS", () => {
    const next = stateFiles({ ...base, platform: "darwin", variant: "windsurf-next", homes: ["/Users/me"] });
    expect(next.slice(0, 2)).toEqual([
      `/Users/me/Library/Application Support/Devin - Next/${tail}`,
      `/Users/me/Library/Application Support/Windsurf - Next/${tail}`,
    ]);
    const antigravity = stateFiles({ ...base, platform: "darwin", variant: "antigravity", homes: ["/Users/me"] });
    expect(antigravity.slice(0, 2)).toEqual([
      `/Users/me/Library/Application Support/Antigravity/${tail}`,
      `/Users/me/Library/Application Support/Antigravity IDE/${tail}`,
    ]);
  });

  it("is APPDATA on Windows, or the roaming folder of the home", () => {
    const windows = String.raw`C:\Users\me\AppData\Roaming\Devin\User\globalStorage\state.vscdb`;
    const appData = new Map([["APPDATA", String.raw`C:\Users\me\AppData\Roaming`]] as const);
    expect(stateFiles({ ...base, platform: "windows", homes: [], environment: appData })[0]).toBe(windows);
    expect(stateFiles({ ...base, platform: "windows", homes: [String.raw`C:\Users\me`] })[0]).toBe(windows);
  });
});

it("a data folder and its state database name each other, on every system", () => {
  for (const folder of ["/home/me/.config/Devin", String.raw`C:\Users\me\AppData\Roaming\Devin`])
    expect(dataFolderOf(stateFileOf(folder))).toBe(folder);
  expect(dataFolderOf("/mnt/c/state.vscdb")).toBeUndefined();
});

it("the extension's folder is two above its binary, however the path is written", () => {
  expect(extensionFolderOf("/a/extensions/windsurf/bin/language_server_linux_x64")).toBe("/a/extensions/windsurf");
  expect(extensionFolderOf(String.raw`C:\a\windsurf\bin\language_server_windows_x64.exe`)).toBe(
    String.raw`C:\a\windsurf`,
  );
  expect(extensionFolderOf("language_server")).toBe("");
});
