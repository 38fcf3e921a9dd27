import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../../test/support/temporary.ts";
import { checkService } from "../doctor/check-own.ts";
import type { ServiceSpec } from "../service/service-plan.ts";
import { noteService } from "../service/service-spec.ts";
import { stableNode } from "./stable-node.ts";

const links = (of: Readonly<Record<string, string>>) => (path: string) =>
  of[path] ?? (Object.values(of).includes(path) ? path : undefined);
const cellar = "/opt/homebrew/Cellar/node@24/24.11.1/bin/node";
const nvm = "/home/me/.nvm/versions/node/v24.11.1/bin/node";
const fnm = "/home/me/.local/share/fnm/node-versions/v24.11.1/installation/bin/node";
const fnmMac = "/Users/me/Library/Application Support/fnm/node-versions/v24.11.1/installation/bin/node";
const mise = "/Users/me/.local/share/mise/installs/node/24.11.1/bin/node";
const mise24 = "/Users/me/.local/share/mise/installs/node/24/bin/node";
const volta = "/Users/me/.volta/tools/image/node/24.11.1/bin/node";

test.each<[string, string, Record<string, string>, Record<string, string>, object]>([
  ["a path without a version stays", "/usr/bin/node", {}, {}, { path: "/usr/bin/node" }],
  [
    "Homebrew's opt link",
    cellar,
    { "/opt/homebrew/opt/node@24/bin/node": cellar },
    {},
    { path: "/opt/homebrew/opt/node@24/bin/node" },
  ],
  ["nvm's current", nvm, { "/home/me/.nvm/current/bin/node": nvm }, {}, { path: "/home/me/.nvm/current/bin/node" }],
  [
    "fnm's default",
    fnm,
    { "/home/me/.local/share/fnm/aliases/default/bin/node": fnm },
    {},
    { path: "/home/me/.local/share/fnm/aliases/default/bin/node" },
  ],
  [
    "fnm's default on macOS",
    fnmMac,
    { [fnmMac.replace(/node-versions.*installation/, "aliases/default")]: fnmMac },
    {},
    { path: "/Users/me/Library/Application Support/fnm/aliases/default/bin/node" },
  ],
  ["mise's link of the major version", mise, { [mise.replace("24.11.1", "24")]: mise }, {}, { path: mise24 }],
  [
    "no shim, and no shim on the PATH: each chooses by the folder",
    volta,
    { "/Users/me/.volta/bin/node": "/Users/me/.volta/bin/volta-shim", a: volta },
    { PATH: "/Users/me/.volta/bin" },
    { path: volta, until: "24.11.1" },
  ],
  [
    "a link on the PATH",
    nvm,
    { "/home/me/bin/node": nvm },
    { PATH: "/bin:/home/me/bin" },
    { path: "/home/me/bin/node" },
  ],
  [
    "a link to another version is none",
    nvm,
    { "/usr/bin/node": "/usr/bin/node-22", a: nvm },
    { PATH: "/usr/bin" },
    { path: nvm, until: "v24.11.1" },
  ],
  ["nothing that stays", nvm, { a: nvm }, {}, { path: nvm, until: "v24.11.1" }],
])("%s", (_, node, of, env, found) => {
  expect(stableNode(node, { env, real: links(of) })).toEqual(found);
});

test("doctor names a file of the service that is not there any more", () => {
  const folder = temporaryFolder();
  expect(checkService(folder)).toEqual([]);
  const spec = { program: join(folder, "node"), args: [join(folder, "bin.js"), "serve"] } as unknown as ServiceSpec;
  for (const file of [spec.program, spec.args[0] ?? ""]) writeFileSync(file, "");
  noteService(folder, spec);
  expect(checkService(folder)).toEqual([]);
  rmSync(spec.program);
  expect(checkService(folder)).toMatchObject([
    { level: "error", what: expect.stringContaining(spec.program) as string },
  ]);
  noteService(folder, undefined);
  expect(checkService(folder)).toEqual([]);
});
