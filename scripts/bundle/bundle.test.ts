import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "acorn";
import { beforeAll, expect, test } from "vitest";
import { temporaryFolder } from "../../test/support/temporary.ts";
import { bundleClient } from "./bundle.ts";
import { loads } from "./imports.ts";
import { type Bundled, bundledIn, notices } from "./notices.ts";
import { testBundle } from "./test-bundle.ts";

let programs = "";
beforeAll(async () => {
  programs = await testBundle();
});

/** What belongs to a gateway, and to nothing that is run often. */
const heavy = ["serve.js", "redis-rows.js", "read-bundle.js", "node:sqlite", "redis"];

test("the check sees what is loaded later as well", () => {
  expect([...loads(programs, "bin.js")]).toEqual(expect.arrayContaining(heavy));
});

test("the plugin runs inside OpenCode: it can load no SQLite, and nothing of a gateway", () => {
  const loaded = loads(programs, "opencode.js");
  expect(heavy.filter((name) => loaded.has(name))).toEqual([]);
  expect(loaded).toContain("node:child_process"); // it starts the gateway as a process
});

test("the key and the status line are shown without what a gateway is made of", () => {
  for (const chunk of ["keys.js", "statusline-fast.js"])
    expect(heavy.filter((name) => loads(programs, chunk).has(name))).toEqual([]);
});

test("a host of an agent loads no library and nothing of a gateway, because one runs beside each agent", () => {
  const loaded = [...loads(programs, "agent-host.js")];
  expect(loaded.filter((name) => heavy.includes(name) || /zod|pino|hono/.test(name))).toEqual([]);
  expect(loaded.filter((name) => name.endsWith(".js")).length).toBeLessThan(12); // small chunks, by who shares them
});

test("no chunk asks for a file of a library that was not bundled", () => {
  const asking = readdirSync(programs).filter((name) =>
    /\brequire\w*\(\s*["']\.{1,2}\//.test(readFileSync(join(programs, name), "utf8")),
  );
  expect(asking).toEqual([]);
});

test("the text of a program takes one byte a character, and has no comments that a gateway would keep in memory", () => {
  const texts = readdirSync(programs).map((name) => readFileSync(join(programs, name), "utf8"));
  expect(texts.filter((text) => Buffer.byteLength(text) !== text.length)).toEqual([]); // UTF-8 takes more for any other character
  expect(texts.join("").match(/^\s*\/\*\*/gm) ?? []).toEqual([]);
});

test("the oldest Node of `engines` can read each program: no syntax is newer", () => {
  const newer = readdirSync(programs).filter((name) => {
    try {
      parse(readFileSync(join(programs, name), "utf8"), { ecmaVersion: 2024, sourceType: "module" });
      return false;
    } catch {
      return true;
    }
  });
  expect(newer).toEqual([]);
});

test("what is started by its file name is there", () => {
  const started = [
    "bin.js",
    "simulated-server.js",
    "simulated-agent.js",
    "agent-host.js",
    "report-worker.js",
    "pdf-worker.js",
  ];
  expect(started.filter((name) => !existsSync(join(programs, name)))).toEqual([]);
});

test("the client library is whole, and imports nothing that a browser lacks", async () => {
  const folder = temporaryFolder();
  await bundleClient(folder);
  const outside = (entry: string) => [...loads(folder, entry)].filter((name) => !existsSync(join(folder, name)));
  expect(outside("index.js")).toEqual([]);
  expect(outside("node.js")).toContain("node:http2");
});

test("the licence of what a package carries in its files is told, and looked at again with another version", () => {
  const at = (file: string) => [{ moduleIds: [join(import.meta.dirname, "../../node_modules/unpdf", file)] }];
  const inside = bundledIn(at("dist/pdfjs.mjs") as unknown as Parameters<typeof bundledIn>[0]); // as far as it is read
  expect(inside.map(({ name }) => name)).toEqual(["unpdf", "pdfjs-dist"]);
  expect(notices([...inside, { ...library, text: "TERMS AND CONDITIONS FOR USE, REPRODUCTION" }])).toContain("Mozilla");
  expect(() => bundledIn(at("LICENSE") as unknown as Parameters<typeof bundledIn>[0])).toThrow("look at the licence");
});

const library: Bundled = { name: "lib", version: "1.0.0", identifier: "MIT", text: "Copyright A" };

test("each library is named once with its notice, and none is shipped without", () => {
  expect(notices([library, { ...library, name: "a" }, library])).toMatch(
    /^.*\n\na 1\.0\.0 \(MIT\)\n\nCopyright A\n\n-+\n\nlib 1\.0\.0 \(MIT\)\n\nCopyright A\n$/,
  );
  expect(() => notices([{ ...library, text: null }])).toThrow("lib 1.0.0 comes without the text of its licence");
  expect(() => notices([{ ...library, text: "Licensed under the Apache License" }])).toThrow(
    "no library brings its text",
  );
});
