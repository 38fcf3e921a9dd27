import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { temporaryHome } from "../support/home.ts";
import { mayMount, smallDisk } from "../support/small-disk.ts";
import { listening } from "../support/temporary.ts";
import { patience, simulator } from "../support/world.ts";
import { buildOf, runAlone } from "./built.ts";

const work = mkdtempSync(join(tmpdir(), "millrace-update-"));
const builds = { old: "", next: "" };
beforeAll(async () => {
  builds.old = await buildOf("01d01d01", work);
  builds.next = await buildOf("2222bbbb", work);
}, 600_000);
afterAll(() => rmSync(work, { recursive: true, force: true }));

const hasScript = process.platform !== "win32";
const digest = (file: string) => createHash("sha256").update(readFileSync(file)).digest("hex");

/** A web server with the files of a release, which a test can replace. */
async function release(program = builds.next) {
  const sum = readFileSync(`${program}.sha256`, "utf8");
  const served = { sum, file: readFileSync(program), room: Number.POSITIVE_INFINITY };
  const server = createServer((request, response) => {
    const isThere = request.url?.startsWith(`/v1/${basename(builds.next)}`) === true;
    response.writeHead(isThere ? 200 : 404);
    if (!isThere) response.end();
    else if (request.url?.endsWith(".sha256") === true) response.end(served.sum);
    else if (served.room > served.file.length) response.end(served.file);
    else response.write(served.file.subarray(0, served.room), () => response.destroy());
  });
  return { served, url: `http://127.0.0.1:${await listening(server)}/v1` };
}

/** A home in which the old build was installed by the script, from this address. */
async function installed(url: string, bin?: string) {
  const home = temporaryHome();
  const folder = bin ?? join(home, ".local/bin");
  const from = await release(builds.old);
  const script = join(import.meta.dirname, "../../scripts/install/install.sh");
  const env = { PATH: process.env["PATH"], HOME: home, MILLRACE_DOWNLOAD: from.url, MILLRACE_BIN: folder };
  await promisify(execFile)("sh", [script], { env });
  writeFileSync(join(home, ".millrace/release.json"), JSON.stringify({ from: url }));
  const program = join(folder, "millrace");
  const run = (...words: readonly string[]) => runAlone(program, home, ...words);
  onTestFinished(async () => void (await run("stop")));
  return { home, folder, program, run };
}

test.runIf(hasScript)(
  "an update asks, replaces the program and keeps an open answer; --previous goes back, and uninstall takes both",
  async () => {
    const { url } = await release();
    const { home, folder, program, run } = await installed(url);
    const text = "Good day to you, and to all who wait. ".repeat(20);
    const ide = await simulator({ home, turn: { rate: "instant", text } });
    const others = readdirSync(home).filter((name) => ![".millrace", ".codeium", ".cache"].includes(name));
    expect(await run("init", "--yes")).toMatchObject({ code: 0 });
    const asked = await run("update");
    expect(asked).toMatchObject({ code: 64, stderr: expect.stringContaining("Nothing was changed") });
    expect(asked.stdout).toMatch(/This is \d+\.\d+\.\d+\+01d01d01\. There is another build at http/);
    expect(readdirSync(folder)).toEqual(["millrace"]);

    await ide.setTurn({ rate: "instant", text, holdAfter: 40 });
    const before = (await ide.until(() => true, patience())).messages.length;
    const answer = run("chat", "hello");
    await ide.until(({ messages }) => messages.length === before + 1, patience());
    const updated = await run("update", "--yes");
    expect(updated).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/Now this is .*\+2222bbbb\. .*\+01d01d01/),
    });
    await ide.release();
    expect(await answer).toMatchObject({ code: 0, stdout: expect.stringContaining(text.trim()) });
    expect((await ide.until(() => true, patience())).messages).toHaveLength(before + 1);
    expect(digest(program)).toBe(digest(builds.next));
    expect((await run("status")).stdout).toContain("+2222bbbb serves on");
    expect(await run("update", "--yes")).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("This is the newest"),
    });

    expect(await run("update", "--previous", "--yes")).toMatchObject({ code: 0 });
    expect(digest(program)).toBe(digest(builds.old));
    expect((await run("status")).stdout).toContain("+01d01d01 serves on");
    expect(readdirSync(folder).toSorted()).toEqual(["millrace", "millrace-previous"]);
    expect(await run("uninstall", "--yes")).toMatchObject({ code: 0, stderr: "" });
    expect(readdirSync(folder)).toEqual(["millrace"]);
    expect(readdirSync(home).filter((name) => name !== ".codeium")).toEqual(others);
  },
);

test.runIf(hasScript)(
  "what cannot be used changes nothing: another checksum, half a file, no file, no TLS, no program",
  async () => {
    const { served, url } = await release();
    const { folder, program, run } = await installed(url);
    const was = digest(program);
    const refused = async (why: RegExp, ...words: readonly string[]) => {
      const ran = await run("update", "--yes", ...words);
      expect(ran.code).not.toBe(0);
      expect(ran.stderr).toMatch(why);
      expect(readdirSync(folder)).toEqual(["millrace"]);
      expect(digest(program)).toBe(was);
    };
    const right = served.sum;
    served.sum = `${"0".repeat(64)}  x\n`;
    await refused(/not the file of its checksum/);
    served.sum = "<html>";
    await refused(/holds no checksum/);
    served.sum = right;
    served.room = 1_000_000;
    await refused(/the connection ended/);
    await refused(/the server answered 404/, "--from", `${url}/elsewhere`);
    await refused(/does not begin with https/, "--from", "http://millrace.example/v1");
    served.room = Number.POSITIVE_INFINITY;
    served.file = Buffer.from("no program");
    served.sum = `${createHash("sha256").update(served.file).digest("hex")}  x\n`;
    await refused(/millrace-next --version` failed/);
    expect(await run("update", "--previous", "--yes")).toMatchObject({ code: 1 });
  },
);

test.runIf(hasScript)("a new program whose gateway does not start gives its place back", async () => {
  const { served, url } = await release();
  const { home, program, run } = await installed(url);
  await simulator({ home, turn: { rate: "instant" } });
  expect(await run("init", "--yes")).toMatchObject({ code: 0 });
  served.file = Buffer.from('#!/bin/sh\n[ "$1" = --version ] && echo 9.9.9 && exit\nexit 70\n');
  served.sum = `${createHash("sha256").update(served.file).digest("hex")}  x\n`;
  const ran = await run("update", "--yes");
  expect(ran.code).not.toBe(0);
  expect(ran.stderr).toContain("is put back");
  expect(digest(program)).toBe(digest(builds.old));
  expect((await run("status")).stdout).toContain("+01d01d01 serves on");
});

test.runIf(mayMount)("a disk without room keeps the program, and says so", async () => {
  const megabytes = Math.ceil(readFileSync(builds.old).length / 1_048_576);
  const disk = smallDisk(Math.round(megabytes * 1.5));
  const { url } = await release();
  const { program, run } = await installed(url, disk.folder);
  const ran = await run("update", "--yes");
  expect(ran).toMatchObject({ code: 73, stderr: expect.stringContaining("the disk is full") });
  expect(readdirSync(dirname(program))).toEqual(["millrace"]);
  expect(digest(program)).toBe(digest(builds.old));
});
