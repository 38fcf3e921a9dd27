import { expect, test } from "vitest";
import { installationOf, removalOf } from "./update.ts";

const node = "/usr/bin/node";
const of = (script: string, there: readonly string[] = [], program = node) =>
  installationOf(script, program, (file) => there.includes(file));

test("each way of installation is told by the place of its files", () => {
  const file = "/home/ann/.local/bin/millrace";
  expect(of(file, [], file)).toEqual({ kind: "file", program: file });
  const inPrefix = "node_modules/millrace/dist/node/bin.js";
  expect(of(`/usr/local/lib/${inPrefix}`)).toEqual({ kind: "npm", prefix: "/usr/local" });
  expect(of(String.raw`C:\Users\Ann\AppData\Roaming\npm\node_modules\millrace\dist\node\bin.js`)).toEqual({
    kind: "npm",
    prefix: "C:/Users/Ann/AppData/Roaming/npm",
  });
  for (const script of ["dist/node/bin.js", "src/cli/bin.ts"])
    expect(of(`/home/ann/millrace/${script}`, ["/home/ann/millrace/.git"])).toEqual({
      kind: "clone",
      folder: "/home/ann/millrace",
    });
});

test("what another program keeps up to date gets that program's line", () => {
  const bin = "node_modules/millrace/dist/node/bin.js";
  const lines = (script: string, there: readonly string[] = [], program = node) => {
    const found = of(script, there, program);
    return found.kind === "other" ? found.lines : [found.kind];
  };
  const brew = "/opt/homebrew/Cellar/millrace/0.1.0/bin/millrace";
  expect(lines(brew, [], brew)).toEqual(["brew upgrade millrace", "millrace restart"]);
  const scoop = String.raw`C:\Users\Ann\scoop\apps\millrace\current\millrace.exe`;
  expect(lines(scoop, [], scoop)).toEqual(["scoop update millrace", "millrace restart"]);
  const winget = String.raw`C:\Users\Ann\AppData\Local\Microsoft\WinGet\Packages\Millrace.Millrace_x\millrace.exe`;
  expect(lines(winget, [], winget)).toEqual(["winget upgrade Millrace.Millrace", "millrace restart"]);
  expect(lines(`/home/ann/.npm/_npx/0123/${bin}`, ["/home/ann/.npm/_npx/0123/package.json"])).toEqual([
    "npx -y millrace@latest restart",
  ]);
  expect(lines(`/home/ann/project/${bin}`, ["/home/ann/project/package.json"])[0]).toBe("npm install millrace@latest");
  expect(lines(`/home/ann/.bun/install/global/${bin}`)[0]).toBe("bun add --global millrace@latest");
  expect(lines(`/home/ann/.local/share/pnpm/global/5/.pnpm/millrace@0.1.0/${bin}`)[0]).toBe(
    "pnpm add --global millrace@latest",
  );
  const unplugged = `/home/ann/project/.yarn/unplugged/millrace-npm-0.1.0-0123abcd/${bin}`;
  expect(lines(unplugged, ["/home/ann/project/package.json"])).toEqual(["yarn up millrace", "millrace restart"]);
  expect(lines("/opt/millrace/dist/node/bin.js")).toEqual(["millrace restart"]);
});

test("each way of installation has its own line that removes the program", () => {
  const bin = "node_modules/millrace/dist/node/bin.js";
  const removal = (script: string, there: readonly string[] = [], program = node) =>
    removalOf(of(script, there, program));
  const file = "/home/ann/.local/bin/millrace";
  expect(removal(file, [], file)).toBe(`delete ${file}`);
  expect(removal(`/usr/local/lib/${bin}`)).toBe('`npm rm --global --prefix "/usr/local" millrace`');
  expect(removal("/home/ann/millrace/dist/node/bin.js", ["/home/ann/millrace/.git"])).toBe("delete /home/ann/millrace");
  const brew = "/opt/homebrew/Cellar/millrace/0.1.0/bin/millrace";
  expect(removal(brew, [], brew)).toBe("`brew uninstall millrace`");
  expect(removal(`/home/ann/.local/share/pnpm/global/5/.pnpm/millrace@0.1.0/${bin}`)).toBe(
    "`pnpm remove --global millrace`",
  );
  expect(removal(`/home/ann/.npm/_npx/0123/${bin}`)).toBe("delete /home/ann/.npm/_npx/0123");
  expect(removal(`/home/ann/project/${bin}`, ["/home/ann/project/package.json"])).toBe(
    "`npm uninstall millrace` in /home/ann/project",
  );
  expect(removal("/opt/millrace/dist/node/bin.js")).toBe("remove it with what installed it");
});
