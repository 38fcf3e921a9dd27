import { existsSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startSimulator } from "../simulator/start.ts";
import { fakeIo } from "./io.fake.ts";
import { run } from "./main.ts";

async function millrace(homeFolder: string, ...argv: readonly string[]) {
  const io = fakeIo({ homeFolder, env: { MILLRACE_IDE_ONLY_HOME: homeFolder } });
  const code = await run(argv, io);
  return { code, stdout: io.written.stdout(), stderr: io.written.stderr() };
}

test("a build's schema is shown, compared and written out", { timeout: 60_000 }, async () => {
  const home = mkdtempSync(join(tmpdir(), "millrace-schema-"));
  await using simulator = await startSimulator({ home, schemaSeed: 3 });
  const bundle = join(simulator.layout.extension, "dist", "extension.js");
  const shown = await millrace(home, "schema", "show", "--json");
  expect(JSON.parse(shown.stdout)).toMatchObject({ file: bundle, verdict: "moved" });
  expect(await millrace(home, "schema", "diff", bundle, bundle)).toMatchObject({ code: 0, stdout: "" });
  const folder = join(home, "out");
  const exported = await millrace(home, "schema", "export", "--file", bundle, "--out", folder);
  expect(exported).toMatchObject({ code: 0, stdout: expect.stringContaining(folder) });
  expect(existsSync(folder)).toBe(true);
});

test("what is no bundle is refused with what to do, and so is a command without its folder", async () => {
  const home = mkdtempSync(join(tmpdir(), "millrace-schema-"));
  const path = join(home, "extension.js");
  writeFileSync(path, "const nothing = 1;");
  expect((await millrace(home, "schema", "show", "--file", path)).code).toBe(64);
  expect((await millrace(home, "schema", "export", "--file", path)).stderr).toContain("--out");
  expect((await millrace(home, "schema")).code).toBe(64);
});
