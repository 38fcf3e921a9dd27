import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { temporaryHome } from "../support/home.ts";
import { mayMount, smallDisk } from "../support/small-disk.ts";
import { simulator } from "../support/world.ts";
import { buildOf, runAlone } from "./built.ts";

const work = mkdtempSync(join(tmpdir(), "millrace-single-file-"));
let program = "";
beforeAll(async () => void (program = await buildOf("0123abcd", work)), 600_000);
afterAll(() => rmSync(work, { recursive: true, force: true }));

const caches = { darwin: "Library/Caches", win32: "AppData/Local" } as Readonly<
  Partial<Record<NodeJS.Platform, string>>
>;
const versionsIn = (home: string) => join(home, caches[process.platform] ?? ".cache", "millrace/program");
const run = (home: string, ...words: readonly string[]) => runAlone(program, home, ...words);

test("the file alone says its version with the commit, and nothing else", async () => {
  expect(await run(temporaryHome(), "--version")).toEqual({
    code: 0,
    stdout: expect.stringMatching(/^\d+\.\d+\.\d+\+0123abcd\n$/),
    stderr: "",
  });
});

test.skipIf(process.platform === "win32")(
  "several first starts at the same moment lay down one program, whole",
  async () => {
    const home = temporaryHome();
    const started = await Promise.all(Array.from({ length: 4 }, () => run(home, "--version")));
    expect(started.map(({ code }) => code)).toEqual([0, 0, 0, 0]);
    expect(readdirSync(versionsIn(home))).toHaveLength(1);
  },
);

test("what was cleaned out of the cache is there again at the next start, also at that of a helper", async () => {
  const home = temporaryHome();
  const says = { code: 0, stdout: expect.stringContaining("+0123abcd"), stderr: "" };
  expect(await run(home, "--version")).toMatchObject(says);
  const versions = versionsIn(home);
  const [name = ""] = readdirSync(versions);
  const folder = join(versions, name);
  const listing = () => new Set(readdirSync(folder, { recursive: true }).map(String));
  const whole = listing();
  for (const file of readdirSync(join(folder, "dist/node"))) // as by their age
    if (file !== "bin.js") rmSync(join(folder, "dist/node", file));
  expect(await run(home, "--version")).toMatchObject(says);
  expect(listing()).toEqual(whole);
  rmSync(versions, { recursive: true });
  expect(await run(home, join(folder, "dist/node/bin.js"), "--version")).toMatchObject(says);
  expect(listing()).toEqual(whole);
  expect(readdirSync(versions)).toEqual([name]);
});

test("a helper of a gateway that began before the file was replaced is of that gateway's package", async () => {
  const home = temporaryHome();
  expect(await run(home, "--version")).toMatchObject({ code: 0 });
  const [name = ""] = readdirSync(versionsIn(home));
  const next = await buildOf("2222bbbb", work);
  expect(await runAlone(next, home, join(versionsIn(home), name, "dist/node/bin.js"), "--version")).toEqual({
    code: 0,
    stdout: expect.stringContaining("+0123abcd"),
    stderr: "",
  });
});

test.runIf(mayMount)("a cache without room for it stays empty, and the program says where it could be", async () => {
  const { folder } = smallDisk(2);
  const env = { PATH: "", HOME: temporaryHome(), XDG_CACHE_HOME: folder };
  const { status, stderr } = spawnSync(program, ["--version"], { env, encoding: "utf8" });
  expect({ status, stderr }).toEqual({ status: 73, stderr: expect.stringContaining("Set XDG_CACHE_HOME to") });
  expect(readdirSync(join(folder, "millrace/program"))).toEqual([]);
});

test("it runs the stand-in IDE and a gateway, and asks it", async () => {
  const demo = await run(temporaryHome(), "demo", "--once");
  expect(demo).toMatchObject({ code: 0, stderr: "" });
  expect(demo.stdout).toContain("I am the Millrace simulator");
});

test("it serves in the background, answers, names itself in files of clients, and leaves nothing but itself", async () => {
  const home = temporaryHome();
  await simulator({ home, turn: { rate: "instant", text: "Good day." } });
  const before = readdirSync(home);
  onTestFinished(async () => void (await run(home, "stop")));
  expect(await run(home, "init", "--yes")).toMatchObject({ code: 0 });
  expect(await run(home, "status")).toMatchObject({ code: 0, stdout: expect.stringContaining("+0123abcd serves on") });
  expect(await run(home, "chat", "hello")).toMatchObject({ code: 0, stdout: expect.stringContaining("Good day.") });
  expect(await run(home, "setup", "codex", "--yes")).toMatchObject({ code: 0 });
  const codex = readFileSync(join(home, ".codex/millrace.config.toml"), "utf8");
  expect(codex).toContain(program);
  expect(codex).not.toMatch(/bin\.js|program\//);
  expect(await run(home, "stop")).toMatchObject({ code: 0 });
  const gone = await run(home, "uninstall", "--yes");
  expect(gone).toMatchObject({ code: 0, stderr: "", stdout: expect.stringContaining(`delete ${program}`) });
  expect(readdirSync(home).filter((name) => !before.includes(name) && name !== ".codeium")).toEqual([]);
});

test.runIf(process.platform === "linux")("the checksum beside it is that of the file", () => {
  const said = execFileSync("sha256sum", ["-c", `${program}.sha256`], { cwd: dirname(program), encoding: "utf8" });
  expect(said).toMatch(/: OK\n$/);
});
