import { execFile, execFileSync } from "node:child_process";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { installerFor, writeRelease } from "../../scripts/release.ts";
import { makeSingleFiles } from "../../scripts/single-file.ts";
import { bundleFolder } from "../support/gateway-process.ts";
import { temporaryHome } from "../support/home.ts";
import { say } from "../support/long-suite.ts";
import { simulator } from "../support/world.ts";
import { openRegistry } from "./registry.ts";

/*
 * A release, from the built package to a machine that has nothing of it left: every file of a release is built, published to a local registry and
 * a local web server, installed by each line on a clean home, used, updated from the build before, taken back and removed.
 */
const root = join(import.meta.dirname, "../..");
const work = mkdtempSync(join(tmpdir(), "rehearsal-"));
const npmFile = process.env["npm_execpath"] ?? ""; // `npm test` runs this
const before = "0.0.9";
const { version: next } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { readonly version: string }; // our own
const folders = { before: join(work, before, "package"), next: join(work, next, "package") };
/** Where a release is: `/latest` are the files of the newest one, which a test chooses. */
const site = { url: "", newest: before };

beforeAll(async () => {
  if (!existsSync(join(root, "dist/node/bin.js"))) throw new Error("There is no dist/: run `npm run build` first.");
  for (const [version, folder] of [
    [before, folders.before],
    [next, folders.next],
  ] as const) {
    npm(["pack", "--ignore-scripts", "--pack-destination", work], root);
    mkdirSync(dirname(folder), { recursive: true });
    const [tarball = ""] = readdirSync(work).filter((name) => name.endsWith(".tgz"));
    execFileSync("tar", ["-xzf", join(work, tarball), "-C", dirname(folder)]);
    rmSync(join(work, tarball));
    const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as object; // our own
    writeFileSync(join(folder, "package.json"), JSON.stringify({ ...manifest, version }));
    writeFileSync(join(folder, "dist/commit"), version === next ? "2222bbbb" : "1111aaaa");
    npm(["pack", "--ignore-scripts", "--pack-destination", dirname(folder), folder], root);
  }
}, 300_000);
afterAll(() => rmSync(work, { recursive: true, force: true }));

function npm(args: readonly string[], cwd: string) {
  return execFileSync(process.execPath, [npmFile, ...args], {
    cwd,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe"],
  });
}

const ofShell = ["sh", "chmod", "curl", "cut", "env", "mkdir", "mktemp", "mv", "rm", "sha256sum", "uname"];

/** A person with a clean home and an IDE in it, on a machine that has these programs alone. */
async function person(programs: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const home = temporaryHome();
  const tools = mkdtempSync(join(work, "tools-"));
  for (const name of programs)
    if (name === "node") symlinkSync(process.execPath, join(tools, name));
    else if (/^np[mx]$/.test(name))
      script(join(tools, name), `exec "${process.execPath}" "${npmFile.replace("npm-cli", `${name}-cli`)}" "$@"`);
    else symlinkSync(execFileSync("sh", ["-c", `command -v ${name}`], { encoding: "utf8" }).trim(), join(tools, name));
  const temporary = mkdtempSync(join(work, "tmp-"));
  await simulator({ home, turn: { rate: "instant", text: "Good day." } });
  for (const folder of [".local/bin", "npm/bin", "npm/lib/node_modules", "npm/share/man/man1"])
    mkdirSync(join(home, folder), { recursive: true });
  const path = [join(home, ".local/bin"), join(home, "npm/bin"), tools].join(delimiter);
  const own = { PATH: path, HOME: home, TMPDIR: temporary, MILLRACE_IDE_ONLY_HOME: home, MILLRACE_PORT: "0", ...env };
  const run = (line: string) =>
    new Promise<{ readonly code: unknown; readonly said: string }>((resolve) => {
      execFile("/bin/sh", ["-c", line], { env: own, cwd: home }, (error, stdout, stderr) =>
        resolve({ code: error?.code ?? 0, said: stdout + stderr }),
      );
    });
  const foreign = /^(?:\.codeium|node-compile-cache)/; // the IDE's, npm's
  const listing = () =>
    [home, temporary].flatMap((folder) =>
      readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => !foreign.test(name)),
    );
  onTestFinished(async () => void (await run("millrace stop")));
  return { home, tools, run, listing };
}

function script(file: string, line: string): void {
  writeFileSync(file, `#!/bin/sh\n${line}\n`);
  chmodSync(file, 0o755);
}

/** The demo, an answer, an update from the build before, and back. `publish` makes the next build the newest. */
async function useAndUpdate({ run }: Awaited<ReturnType<typeof person>>, publish: () => void) {
  expect(await run("millrace demo --once")).toMatchObject({
    code: 0,
    said: expect.stringContaining("Millrace simulator"),
  });
  expect(await run("millrace init --yes")).toMatchObject({ code: 0 });
  expect((await run("millrace status")).said).toContain(`${before}+1111aaaa serves on`);
  expect(await run("millrace update --yes")).toMatchObject({ code: 0, said: expect.stringContaining("is the newest") });
  publish();
  expect(await run("millrace update --yes")).toMatchObject({
    code: 0,
    said: expect.stringContaining(`Now this is ${next}`),
  });
  expect((await run("millrace status")).said).toContain(`${next}+2222bbbb serves on`);
  expect(await run("millrace chat hello")).toMatchObject({ code: 0, said: expect.stringContaining("Good day.") });
  expect(await run("millrace update --previous --yes")).toMatchObject({ code: 0 });
  expect((await run("millrace status")).said).toContain(`${before}+1111aaaa serves on`);
  expect(await run("millrace uninstall --yes")).toMatchObject({
    code: 0,
    said: expect.stringContaining("\nRemoved.\n"),
  });
}

/** The files of both releases, on a web server. */
async function openSite() {
  const server = createServer((request, response) => {
    const file = join(work, "site", (request.url ?? "").replace("/latest/", `/${site.newest}/`));
    if (existsSync(file)) response.end(readFileSync(file));
    else response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  site.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const latest = `${site.url}/latest`;
  writeRelease(folders.next, join(work, "site", next), { files: `${site.url}/${next}`, latest, homepage: site.url });
  const old = join(work, "site", before);
  makeSingleFiles(folders.before, [`${process.platform}-${process.arch}`], old);
  writeFileSync(join(old, "install.sh"), installerFor("install.sh", latest));
}

test("the line of the release's page, on a machine with neither Node nor git", async () => {
  await openSite();
  const own = await person(ofShell);
  const was = own.listing();
  const [, line = ""] = /```sh\n(.*)\n```/.exec(readFileSync(join(work, "site", next, "notes.md"), "utf8")) ?? [];
  const startedMs = performance.now();
  const installed = await own.run(line);
  expect(installed).toMatchObject({ code: 0, said: expect.stringContaining("Installed ") });
  expect(await own.run("millrace demo --once")).toMatchObject({ code: 0 });
  say(`from the line to the end of the demo: ${((performance.now() - startedMs) / 1000).toFixed(1)} s`);
  await useAndUpdate(own, () => (site.newest = next));
  const [, removal = ""] = /then (rm .*)/.exec(installed.said) ?? [];
  expect(await own.run(removal)).toMatchObject({ code: 0 });
  expect(own.listing()).toEqual(was);
}, 1_800_000);

/** A registry with both builds, published as the workflow does it, and what npm needs to use it. */
async function published() {
  const registry = await openRegistry();
  const userconfig = join(mkdtempSync(join(work, "npm-")), "npmrc");
  writeFileSync(userconfig, `registry=${registry.url}\n${registry.url.replace("http:", "")}:_authToken=x\n`);
  const env = {
    npm_config_userconfig: userconfig,
    npm_config_cache: join(dirname(userconfig), "cache"),
    npm_config_update_notifier: "false",
  };
  for (const version of [before, next]) {
    const words = ["publish", "--ignore-scripts", join(work, version, `millrace-${version}.tgz`)];
    await promisify(execFile)(process.execPath, [npmFile, ...words], { cwd: work, env: { ...process.env, ...env } });
  }
  registry.tags.latest = before;
  return { registry, env };
}

test("npm install --global", async () => {
  const { registry, env } = await published();
  const own = await person(["sh", "env", "node", "npm"], env);
  const was = own.listing();
  const prefix = `--prefix '${own.home}/npm'`;
  expect(await own.run(`npm install --global ${prefix} millrace`)).toMatchObject({ code: 0 });
  await useAndUpdate(own, () => (registry.tags.latest = next));
  expect(await own.run(`npm rm --global ${prefix} millrace`)).toMatchObject({ code: 0 });
  expect(own.listing()).toEqual(was);
});

test("npx", async () => {
  const { registry, env } = await published();
  const own = await person(["sh", "env", "node", "npx"], env);
  const was = own.listing();
  const millrace = "npx -y millrace@latest";
  expect(await own.run(`${millrace} demo --once`)).toMatchObject({ code: 0 });
  expect(await own.run(`${millrace} init --yes`)).toMatchObject({ code: 0 });
  registry.tags.latest = next;
  const updated = await own.run(`${millrace} update`);
  expect(updated).toMatchObject({ code: 1, said: expect.stringContaining("npx -y millrace@latest restart") });
  expect(await own.run("npx -y millrace@latest restart")).toMatchObject({ code: 0 });
  expect((await own.run(`${millrace} status`)).said).toContain(`${next}+2222bbbb serves on`);
  expect(await own.run(`${millrace} uninstall --yes`)).toMatchObject({ code: 0 });
  expect(own.listing()).toEqual(was);
});

test("a clone", async () => {
  const own = await person(["sh", "env", "node", "npm", "git", "cat", "mkdir", "sleep"], {
    npm_config_cache: join(work, "npm-cache"),
    GIT_CONFIG_NOSYSTEM: "1",
  });
  const origin = join(mkdtempSync(join(work, "origin-")), "millrace");
  mkdirSync(join(origin, "dist"), { recursive: true });
  cpSync(bundleFolder(), join(origin, "dist/node"), { recursive: true });
  const git = (...args: readonly string[]) =>
    execFileSync("git", ["-C", origin, "-c", "user.name=Ann", "-c", "user.email=ann@example.com", ...args]);
  const commit = (version: string) => {
    const scripts = { build: "node -e 0" };
    writeFileSync(join(origin, "package.json"), JSON.stringify({ name: "millrace", version, type: "module", scripts }));
    writeFileSync(
      join(origin, "package-lock.json"),
      JSON.stringify({
        name: "millrace",
        version,
        lockfileVersion: 3,
        packages: { "": { name: "millrace", version } },
      }),
    );
    git("add", ".");
    git("commit", "-qm", version);
  };
  git("init", "-q");
  commit("0.0.9");
  const clone = join(own.home, "clone");
  execFileSync("git", ["clone", "-q", origin, clone]);
  symlinkSync(join(clone, "dist/node/bin.js"), join(own.home, ".local/bin/millrace"));
  chmodSync(join(clone, "dist/node/bin.js"), 0o755);
  expect(await own.run("millrace init --yes")).toMatchObject({ code: 0 });
  expect(await own.run("millrace update --yes")).toMatchObject({
    code: 0,
    said: expect.stringContaining("is the newest"),
  });
  commit("0.1.0");
  expect(await own.run("millrace update --yes")).toMatchObject({
    code: 0,
    said: expect.stringContaining("Now this is "),
  });
  expect((await own.run("millrace status")).said).toContain("0.1.0 serves on");
  expect(await own.run("millrace update --previous --yes")).toMatchObject({ code: 0 });
  expect((await own.run("millrace status")).said).toContain("0.0.9 serves on");
  const npm = join(own.tools, "npm");
  const real = readFileSync(npm, "utf8");
  /** Once, what npm is asked for ends the update by this signal instead. */
  const endAtNpm = (signal: string) =>
    script(
      npm,
      `if mkdir "${own.tools}/${signal}" 2>/dev/null; then kill -${signal} $PPID; exec sleep 60; fi\n${real}`,
    );
  endAtNpm("INT");
  expect((await own.run("millrace update --yes")).code).toBe(130);
  expect((await own.run("millrace status")).said).toContain("0.0.9 serves on");
  endAtNpm("KILL");
  expect((await own.run("millrace update --yes")).code).not.toBe(0);
  expect(await own.run("millrace update --yes")).toMatchObject({
    code: 0,
    said: expect.stringContaining("Now this is "),
  });
  expect((await own.run("millrace --version")).said).toContain("0.1.0");
  expect(await own.run("millrace update --previous --yes")).toMatchObject({ code: 0 });
  expect((await own.run("millrace --version")).said).toContain("0.0.9");
  execFileSync("git", ["-C", clone, "remote", "remove", "origin"]);
  const alone = await own.run("millrace update --yes");
  expect(alone).toMatchObject({ code: 64, said: expect.stringContaining("has no remote repository") });
  expect(alone.said).not.toContain("fatal:");
});
