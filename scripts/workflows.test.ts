import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { z } from "zod";

const root = join(import.meta.dirname, "..");
const folder = join(root, ".github/workflows");
const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
  readonly scripts: Readonly<Record<string, string>>;
}; // our own

const step = z.strictObject({
  name: z.string().optional(),
  if: z.string().optional(),
  uses: z.string().optional(),
  run: z.string().optional(),
  with: z.record(z.string(), z.unknown()).optional(),
  env: z.record(z.string(), z.string()).optional(),
});
const job = z.looseObject({
  "runs-on": z.string(),
  "timeout-minutes": z.number(),
  permissions: z.record(z.string(), z.string()).optional(),
  strategy: z.looseObject({ matrix: z.record(z.string(), z.array(z.unknown())) }).optional(),
  steps: z.array(step),
});
const workflow = z.looseObject({
  permissions: z.strictObject({ contents: z.literal("read") }),
  jobs: z.record(z.string(), job),
});

describe.each(readdirSync(folder))("%s", (file) => {
  const text = readFileSync(join(folder, file), "utf8");
  const { jobs } = workflow.parse(parse(text));
  const steps = Object.values(jobs).flatMap((each) => each.steps);

  test("pins every action by its commit, and says which version that is", () => {
    const uses = text.split("\n").filter((line) => line.includes("uses:"));
    expect(uses.length).toBeGreaterThan(2);
    for (const line of uses) expect(line).toMatch(/uses: [\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
  });

  test("names only scripts that exist", () => {
    const named = steps.flatMap(({ run = "" }) =>
      [...run.matchAll(/npm run (?:-s )?(\S+)/g)].map(([, name = ""]) => name),
    );
    for (const name of named) expect(Object.keys(scripts)).toContain(name);
  });

  test("may write only where a step needs it, and keeps no credentials in the checkout", () => {
    for (const [name, { permissions = {} }] of Object.entries(jobs))
      expect(name === "publish" || !Object.values(permissions).includes("write")).toBe(true);
    const checkouts = steps.filter(({ uses }) => uses?.startsWith("actions/checkout@") === true);
    for (const { with: given } of checkouts) expect(given?.["persist-credentials"]).toBe(false);
  });
});

test("the systems and runtimes that the package is for are all tried", () => {
  const { jobs } = workflow.parse(parse(readFileSync(join(folder, "ci.yml"), "utf8")));
  expect(jobs["installed"]?.strategy?.matrix).toEqual({
    os: ["ubuntu-latest", "macos-latest", "windows-latest"],
    runtime: ["22", "24", "26", "bun"],
  });
});

test("CI on GitHub runs each step of .ci/run, and each part of .ci/nightly, once", () => {
  const { jobs } = workflow.parse(parse(readFileSync(join(folder, "ci.yml"), "utf8")));
  for (const [name, key, script] of [
    ["linux", "steps", ".ci/run"],
    ["nightly", "parts", ".ci/nightly"],
  ] as const) {
    const named = (jobs[name]?.strategy?.matrix[key] ?? []).flatMap((words) => String(words).split(" "));
    const steps = [...readFileSync(join(root, script), "utf8").matchAll(/^step (\S+) /gm)].map(([, step = ""]) => step);
    expect(steps.length).toBeGreaterThan(5);
    expect(named.toSorted()).toEqual(steps.toSorted());
  }
});

test("a release takes what CI built: it installs nothing, and names no registry", () => {
  const text = readFileSync(join(folder, "release.yml"), "utf8");
  expect(text).not.toMatch(/npm (ci|install|run)|registry\.|registry-url/);
  expect(text).toMatch(/gh run list .*--branch main .*--commit "\$GITHUB_SHA" --status success/);
});

test("each file of a release has its proof before the release is made", () => {
  const { jobs } = workflow.parse(parse(readFileSync(join(folder, "release.yml"), "utf8")));
  const { steps = [], permissions = {} } = jobs["publish"] ?? {};
  const proof = steps.findIndex(({ uses }) => uses?.startsWith("actions/attest-build-provenance@") === true);
  expect(steps[proof]?.with).toEqual({ "subject-path": "files/*" });
  expect(steps.findIndex(({ run = "" }) => run.startsWith("gh release create"))).toBeGreaterThan(proof);
  expect(permissions).toMatchObject({ "id-token": "write", attestations: "write" });
});
