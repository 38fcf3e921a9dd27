import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startSimulator } from "../../../simulator/index.ts";
import { extensionBundle, shiftedSchema } from "../../../simulator/parts.ts";
import { main } from "../main.ts";
import { fakeIo } from "../terminal/io.fake.ts";

async function millrace(homeFolder: string, ...argv: readonly string[]) {
  const io = fakeIo({ homeFolder, env: { MILLRACE_IDE_ONLY_HOME: homeFolder } });
  const code = await main(argv, io);
  return { code, stdout: io.written.stdout(), stderr: io.written.stderr() };
}

test("the schema of the running build is shown", async () => {
  const home = mkdtempSync(join(tmpdir(), "millrace-schema-"));
  await using simulator = await startSimulator({ home, schemaSeed: 3 });
  const bundle = join(simulator.layout.extension, "dist", "extension.js");
  const shown = await millrace(home, "doctor", "--schema", "--json");
  const exported = JSON.parse(shown.stdout) as Record<string, object>;
  expect(exported).toMatchObject({ file: bundle, verdict: "moved" });
  const message = "exa.cortex_pb.CascadeConversationalPlannerConfig";
  expect(exported["messages"]).toHaveProperty([message, "planner_mode"], expect.any(Number));
  const models = exported["models"] as readonly { readonly name: string; readonly number: number }[];
  expect(exported["enums"]).toHaveProperty(
    ["exa.codeium_common_pb.Model"],
    Object.fromEntries(models.map(({ name, number }) => [name, number])),
  );
});

test("what Millrace misses in a build comes first, then models that it does not know; the rest is cut to a screen", async () => {
  const home = mkdtempSync(join(tmpdir(), "millrace-schema-"));
  const [path, older] = [join(home, "extension.js"), join(home, "older.js")];
  writeFileSync(older, extensionBundle([...shiftedSchema(3).files]));
  const bundle = readFileSync(older, "utf8");
  writeFileSync(
    path,
    bundle
      .replaceAll(/name:"planner_mode"/g, 'name:"planner_moods"')
      .replace(/(setEnumType\([^,]+,"exa\.codeium_common_pb\.Model",\[)/, '$1{no:9001,name:"MODEL_OF_TOMORROW"},'),
  );
  const { stdout } = await millrace(home, "doctor", "--schema", "--file", path);
  const lines = stdout.split("\n");
  expect(lines[2]).toMatch(/^holds {5}(\d+) of the \1 types that Millrace uses$/);
  expect(lines.slice(3, 6)).toEqual([
    "verdict   something that Millrace needs is missing",
    expect.stringMatching(/^differs {3}\d+ missing, \d+ moved$/),
    "  missing  exa.cortex_pb.CascadeConversationalPlannerConfig.planner_mode, which Millrace needs",
  ]);
  expect(stdout).toMatch(
    /and \d+ more; --all lists them\nmodels {4}1 that Millrace does not know by name\n {2}MODEL_OF_TOMORROW = 9001/,
  );
  expect(lines.length).toBeLessThan(40);
  const all = await millrace(home, "doctor", "--schema", "--file", path, "--all");
  const differences = (lines[4]?.match(/\d+/g) ?? []).reduce((sum, count) => sum + Number(count), 0);
  expect(all.stdout.split("\n").length).toBeGreaterThan(Math.max(differences, lines.length));
});

test("what is no bundle is refused with what to do", async () => {
  const home = mkdtempSync(join(tmpdir(), "millrace-schema-"));
  const path = join(home, "extension.js");
  writeFileSync(path, "const nothing = 1;");
  expect((await millrace(home, "doctor", "--schema", "--file", path)).code).toBe(64);
});
