import { execFile, execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, realpathSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { delimiter, join } from "node:path";
import { expect, test } from "vitest";
import { listening, temporaryFolder } from "../../test/support/temporary.ts";

const program = "#!/bin/sh\necho 1.2.3\n";
const sumOf = (text: string) => createHash("sha256").update(text).digest("hex");

/** A clean home, and a web server with the files of a release. `served`: what it answers, and how often it was asked. */
async function place(sum = sumOf(program)) {
  const served = { file: program, sum, room: Number.POSITIVE_INFINITY, asked: 0 };
  const home = realpathSync(temporaryFolder());
  const server = createServer((request, response) => {
    const path = request.url ?? "";
    served.asked++;
    response.writeHead(path.startsWith("/release/millrace-") ? 200 : 404, { connection: "close" });
    if (path.endsWith(".sha256")) response.end(`${served.sum}  ${path.slice(9, -7)}\n`);
    else if (served.room >= served.file.length) response.end(served.file);
    else response.write(served.file.slice(0, served.room), () => response.destroy());
  });
  const address = `http://127.0.0.1:${await listening(server)}`;
  return { home, served, download: `${address}/release`, elsewhere: `${address}/nothing` };
}

const run = (file: string, args: readonly string[], home: string, own: NodeJS.ProcessEnv = {}) =>
  new Promise<{ readonly code: unknown; readonly said: string }>((resolve) => {
    const env = { PATH: process.env["PATH"], HOME: home, ...own };
    execFile(file, args, { env }, (error, stdout, stderr) =>
      resolve({ code: error?.code ?? 0, said: stdout + stderr }),
    );
  });
const install = (home: string, download?: string, own: NodeJS.ProcessEnv = {}) =>
  run("/bin/sh", [join(import.meta.dirname, "install.sh")], home, { MILLRACE_DOWNLOAD: download, ...own });

/** A folder in which a shell finds these programs, for a PATH of its own. */
function tools(home: string, ...names: readonly string[]): string {
  const folder = join(home, "tools");
  mkdirSync(folder);
  const always = ["chmod", "cut", "mkdir", "mktemp", "mv", "rm", "sh", "uname"];
  for (const name of [...always, ...names])
    symlinkSync(execFileSync("sh", ["-c", `command -v ${name}`], { encoding: "utf8" }).trim(), join(folder, name));
  return folder;
}

const hasShell = process.platform !== "win32";

test.runIf(hasShell)(
  "install.sh puts the program below the home, and says how to call and remove it; twice is as once",
  async () => {
    const { home, download } = await place();
    const bin = join(home, ".local/bin");
    for (let round = 0; round < 2; round++) {
      const { code, said } = await install(home, download);
      expect(code).toBe(0);
      expect(said).toContain(`Installed ${bin}/millrace.\n`);
      expect(said).toContain(`export PATH=${bin}:"$PATH"`);
      expect(said).toContain(`rm ${bin}/millrace`);
    }
    expect(readdirSync(bin)).toEqual(["millrace"]);
    const record = JSON.parse(readFileSync(join(home, ".millrace/release.json"), "utf8")) as unknown;
    expect(record).toEqual({ from: download }); // `millrace update` asks there
    expect(await run(join(bin, "millrace"), ["--version"], home)).toEqual({ code: 0, said: "1.2.3\n" });
  },
);

test.runIf(hasShell)(
  "install.sh leaves nothing of a file with another checksum, or that is not there, and says so",
  async () => {
    const { home, download, elsewhere } = await place("0".repeat(64));
    expect(await install(home, download)).toMatchObject({ code: 65, said: expect.stringContaining("checksum") });
    expect(await install(home, elsewhere)).toMatchObject({
      code: 69,
      said: expect.stringContaining("cannot be fetched"),
    });
    expect(await install(home)).toMatchObject({ code: 64, said: expect.stringContaining("No release") });
    expect(readdirSync(join(home, ".local/bin"))).toEqual([]);
  },
);

test.runIf(hasShell)("install.sh places nothing where it cannot be used, and says why", async () => {
  const { home, served, download } = await place();
  const bin = join(home, ".local/bin");
  const refused = async (code: number, why: string, own: NodeJS.ProcessEnv = {}) => {
    const ran = await install(home, download, own);
    expect(ran).toMatchObject({ code, said: expect.stringContaining(why) });
    expect(ran.said).not.toContain("Installed");
    expect(readdirSync(bin)).toEqual([]);
  };
  served.room = 10;
  await refused(69, "cannot be fetched");
  served.room = Number.POSITIVE_INFINITY;
  served.file = "#!/nowhere/at/all\n"; // as a program for another C library
  served.sum = sumOf(served.file);
  await refused(69, "does not start here");
  served.file = program;
  served.sum = sumOf(program);
  writeFileSync(join(home, "file"), "");
  await refused(73, "file/own cannot be written", { MILLRACE_HOME: join(home, "file/own") });
  mkdirSync(join(bin, "millrace"));
  expect(await install(home, download)).toMatchObject({ code: 73, said: expect.stringContaining("is a folder") });
  expect(readdirSync(join(bin, "millrace"))).toEqual([]);
});

test.runIf(hasShell)("install.sh needs one of each tool, and does not repeat half a download", async () => {
  const { home, served, download } = await place();
  const path = tools(home);
  const needs = async (what: string) =>
    expect(await install(home, download, { PATH: path })).toMatchObject({
      code: 69,
      said: expect.stringContaining(`needs ${what}`),
    });
  await needs("curl or wget");
  const wget = execFileSync("sh", ["-c", "command -v wget || :"], { encoding: "utf8" }).trim();
  if (wget === "") return;
  symlinkSync(wget, join(path, "wget"));
  await needs("sha256sum or shasum");
  expect(served.asked).toBe(0);
  symlinkSync("/usr/bin/sha256sum", join(path, "sha256sum"));
  served.room = 10;
  expect(await install(home, download, { PATH: path })).toMatchObject({ code: 69 });
  expect(served.asked).toBe(2);
  served.room = Number.POSITIVE_INFINITY;
  expect(await install(home, `${download}/`, { PATH: path })).toMatchObject({ code: 0 });
});

test.runIf(hasShell)("the lines that install.sh prints start this program, also beside another one", async () => {
  const { home, download } = await place();
  const folder = join(home, "Jörg  Müller's $(false) bin");
  const other = join(home, "other");
  mkdirSync(other);
  writeFileSync(join(other, "millrace"), "#!/bin/sh\necho another one\n", { mode: 0o755 });
  const PATH = [other, folder, process.env["PATH"]].join(delimiter);
  const { code, said } = await install(home, download, { PATH, MILLRACE_BIN: folder });
  expect(code).toBe(0);
  const line = (pattern: RegExp) => run("/bin/sh", ["-c", pattern.exec(said)?.[1] ?? "exit 99"], home, { PATH });
  expect(await line(/^Type: (.*)$/m)).toEqual({ code: 0, said: "1.2.3\n" });
  expect(said).toContain(`${other}/millrace`);
  expect(await line(/^To remove it: (.*), then/m)).toEqual({ code: 0, said: "1.2.3\n" });
  expect(await line(/, then (rm .*)$/m)).toEqual({ code: 0, said: "" });
  expect(readdirSync(folder)).toEqual([]);
});

test.runIf(hasShell)("a part of install.sh does nothing: its download was cut", async () => {
  const { home, download } = await place();
  const lines = readFileSync(join(import.meta.dirname, "install.sh"), "utf8")
    .trimEnd()
    .split("\n");
  const parts = lines.map((_, end) => lines.slice(0, end).join("\n"));
  for (const part of parts) await run("/bin/sh", ["-c", part], home, { MILLRACE_DOWNLOAD: download });
  expect(readdirSync(home)).toEqual([]);
});
