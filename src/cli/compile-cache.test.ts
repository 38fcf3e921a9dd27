import { spawnSync } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../test/support/temporary.ts";
import { cacheFolder } from "./compile-cache.ts";

test("each system has its own folder for what can be made again, and only Linux asks a variable first", () => {
  const env = { XDG_CACHE_HOME: "/caches", LOCALAPPDATA: "C:\\local" };
  expect(cacheFolder(env, "linux", "/home/ada")).toBe("/caches");
  expect(cacheFolder({ XDG_CACHE_HOME: "caches" }, "linux", "/home/ada")).toBe(join("/home/ada", ".cache"));
  expect(cacheFolder({}, "linux", "/home/ada")).toBe(join("/home/ada", ".cache"));
  expect(cacheFolder(env, "darwin", "/Users/ada")).toBe(join("/Users/ada", "Library", "Caches"));
  expect(cacheFolder(env, "win32", "/ada")).toBe("C:\\local");
  expect(cacheFolder({}, "win32", "/ada")).toBe(join("/ada", "AppData", "Local"));
});

function started(cacheHome: string): { readonly status: number | null; readonly said: string } {
  const module = JSON.stringify(new URL("compile-cache.ts", import.meta.url).href);
  const program = `const { keepCompiled } = await import(${module}); keepCompiled(process); await import("node:fs");`;
  const env = { PATH: process.env["PATH"], HOME: cacheHome, XDG_CACHE_HOME: cacheHome };
  const { status, stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "--eval", program], {
    encoding: "utf8",
    env,
  });
  return { status, said: stdout + stderr };
}

test.runIf(process.platform === "linux")(
  "what is compiled is kept in that folder; one that cannot be made is no error",
  () => {
    const folder = temporaryFolder();
    expect(started(folder)).toEqual({ status: 0, said: "" });
    expect(existsSync(join(folder, "millrace", "compiled"))).toBe(true);
    const file = join(folder, "a-file");
    writeFileSync(file, "");
    expect(started(file)).toEqual({ status: 0, said: "" });
  },
);
