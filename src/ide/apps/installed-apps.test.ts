import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { anyCharacter } from "../../../test/support/any-character.ts";
import { FakeHost } from "../host/host.fake.ts";
import { splitUnquoted } from "../process/command-line.ts";
import { appFolders, appRootOf, findApps, looksLikeApp } from "./installed-apps.ts";

const never = new AbortController().signal;
const product = (nameShort: string, windsurfVersion: string) => JSON.stringify({ nameShort, windsurfVersion });

describe("the apps of a machine", () => {
  it("are found on Linux by their folders, also where none of them runs", async () => {
    const host = new FakeHost();
    host.texts.set("/usr/share/devin-desktop/resources/app/product.json", product("Devin", "3.10.48"));
    host.texts.set("/usr/share/devin-desktop-next/resources/app/product.json", product("Devin - Next", "3.11.228"));
    host.texts.set("/home/me/apps/Windsurf/resources/app/product.json", product("Windsurf", "2.2.17"));
    host.texts.set("/usr/share/vim/resources/app/product.json", product("Vim", "9"));
    host.texts.set("/opt/devin-something/readme", "no app");
    const places = { platform: "linux", homes: ["/home/me"], onlyHomes: false, variables: {} } as const;
    const apps = await findApps(host, places, [], never);
    expect(apps.map(({ variant, product: name, running }) => [variant, name, running])).toEqual([
      ["windsurf", "Devin Desktop 3.10 (formerly Windsurf)", false],
      ["windsurf-next", "Devin Desktop Next 3.11 (formerly Windsurf Next)", false],
      ["windsurf", "Devin Desktop 2.2 (formerly Windsurf)", false],
    ]);
  });

  it("are found on macOS as bundles, renamed ones too, and as running where a program of theirs runs", async () => {
    const host = new FakeHost("darwin");
    const root = (app: string) => `/Applications/${app}/Contents/Resources/app`;
    host.texts.set(`${root("Devin.app")}/product.json`, product("Devin", "3.10.48"));
    host.texts.set(`${root("Devin - Next.app")}/product.json`, product("Devin - Next", ""));
    host.texts.set(`${root("Windsurf 2.app")}/product.json`, product("Devin", "3.9.19"));
    const places = { platform: "darwin", homes: ["/Users/me"], onlyHomes: false, variables: {} } as const;
    const apps = await findApps(host, places, ["/Applications/Windsurf 2.app/Contents/MacOS/Devin"], never);
    expect(apps.map(({ appRoot, product: name, running }) => [appRoot, name, running])).toEqual([
      [root("Windsurf 2.app"), "Devin Desktop 3.9 (formerly Windsurf)", true],
      [root("Devin - Next.app"), "Devin Desktop Next (formerly Windsurf Next)", false],
      [root("Devin.app"), "Devin Desktop 3.10 (formerly Windsurf)", false],
    ]);
  });

  it("are found on Windows below the user's programs", async () => {
    const host = new FakeHost("windows");
    const root = String.raw`C:\Users\me\AppData\Local\Programs\Devin\resources\app`;
    host.texts.set(String.raw`${root}\product.json`, product("Devin", "3.10.48"));
    const variables = { LOCALAPPDATA: String.raw`C:\Users\me\AppData\Local` };
    const places = { platform: "windows", homes: [String.raw`C:\Users\me`], onlyHomes: false, variables } as const;
    expect(await findApps(host, places, [], never)).toMatchObject([{ appRoot: root, version: "3.10.48" }]);
  });

  it("of the whole system are left out when one home is asked for", () => {
    for (const platform of ["linux", "darwin", "windows"] as const) {
      const places = { platform, homes: ["/tmp/h"], onlyHomes: true, variables: { LOCALAPPDATA: "C:\\x" } };
      for (const folder of appFolders(places)) expect(folder).toMatch(/^\/tmp\/h\//);
    }
  });
});

it.each([
  [
    "/usr/share/devin-desktop/resources/app/extensions/windsurf/bin/language_server_linux_x64",
    "/usr/share/devin-desktop/resources/app",
  ],
  [
    "/usr/share/devin-desktop/resources/app/extensions/windsurf/devin/bin/devin",
    "/usr/share/devin-desktop/resources/app",
  ],
  ["/usr/share/devin-desktop/devin-desktop", "/usr/share/devin-desktop/resources/app"],
  [
    "/Applications/Devin - Next.app/Contents/MacOS/Devin - Next",
    "/Applications/Devin - Next.app/Contents/Resources/app",
  ],
  [String.raw`C:\Programs\Devin\Devin.exe`, String.raw`C:\Programs\Devin\resources\app`],
  ["/usr/bin/vim", undefined],
  ["devin", undefined],
])("the app of the program %s is in %s", (path, root) => {
  expect(appRootOf(path)).toBe(root);
});

describe("a process", () => {
  it.each([
    ["/Applications/Devin.app/Contents/MacOS/Devin", true],
    ["/Applications/Devin - Next.app/Contents/MacOS/Devin - Next", true],
    ["/usr/share/devin-desktop/resources/app/extensions/windsurf/devin/bin/devin acp --agent-type summarizer", true],
    ["/usr/share/devin-desktop/devin-desktop --type=renderer --user-data-dir=/home/me/.config/Devin", false],
    ["/usr/bin/vim /home/me/devin", false],
    ["/home/devin/bin/node server.js", false],
  ])("%s is an app's: %s", (text, is) => {
    expect(looksLikeApp(splitUnquoted(text))).toBe(is);
  });

  it("never makes the search fail, for any path", () => {
    const property = fc.property(fc.string({ unit: anyCharacter }), (path) => {
      appRootOf(path);
      looksLikeApp({ program: path, args: [path] });
    });
    expect(() => fc.assert(property)).not.toThrow();
  });
});
