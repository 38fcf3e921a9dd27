import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { bundledTitles, sbomOf } from "./bundle/sbom.ts";

const root = join(import.meta.dirname, "..");
const read = (file: string) => readFileSync(join(root, file), "utf8");
const manifest = JSON.parse(read("package.json")) as {
  readonly dependencies?: unknown;
  readonly devDependencies: Readonly<Record<string, string>>;
  readonly peerDependencies: Readonly<Record<string, string>>;
}; // our own
const rows = read("docs/dev/dependencies.md")
  .split("\n## ")
  .flatMap((section) =>
    [...section.matchAll(/^- (`.+`): (.+)$/gm)].flatMap(([, names = "", why = ""]) =>
      names.split(", ").map((name) => ({ name: name.slice(1, -1), where: section.split("\n", 1)[0], why })),
    ),
  );

test("each dependency is there once, with its reason", () => {
  expect(manifest.dependencies).toBeUndefined();
  expect(rows.map(({ name }) => name).toSorted()).toEqual(Object.keys(manifest.devDependencies).toSorted());
  for (const { why } of rows) expect(why.length).toBeGreaterThan(4);
});

test("the page, the layer rules and the manifest agree on what a user gets", () => {
  const of = (where: string) => rows.filter((row) => row.where === where).map(({ name }) => name);
  const [, list = ""] = /const bundled = \[([^\]]+)\]/.exec(read(".dependency-cruiser.cjs")) ?? [];
  const bundled = [...list.matchAll(/"(\S+)"/g)].map(([, name = ""]) => name);
  const ofTheDashboard = ["preact"];
  expect(new Set(of("In the package"))).toEqual(new Set([...bundled, ...ofTheDashboard]));
  expect(of("Installed by the user").toSorted()).toEqual(Object.keys(manifest.peerDependencies).toSorted());
});

test("the workspace of the simulator has the versions of the root", () => {
  const { dependencies } = JSON.parse(read("simulator/package.json")) as Pick<typeof manifest, "dependencies">; // our own
  expect(manifest.devDependencies).toMatchObject(dependencies as object);
});

test("the container has the Redis client that the tests ran with", () => {
  expect(read("Containerfile")).toContain(` redis@${manifest.devDependencies["redis"]} `);
});

test("the bill of materials has the libraries of the notices, and no tool", () => {
  const titles = bundledTitles(
    "Millrace holds code.\n\nzod 4.6.7 (MIT)\n\nMIT License\n\n@a/b 1.0.0-rc.1 (Apache-2.0)\n\nText 1.\n",
  );
  expect(titles).toEqual(["zod 4.6.7", "@a/b 1.0.0-rc.1"]);
  const component = (name: string, version: string) => ({
    "bom-ref": `${name}@${version}`,
    name,
    version,
    properties: [{ name: "cdx:npm:package:development", value: "true" }],
  });
  const components = [component("zod", "4.6.7"), component("vitest", "1.0.0"), component("@a/b", "1.0.0-rc.1")];
  const whole = {
    bomFormat: "CycloneDX",
    metadata: { component: { ...component("millrace", "1.0.0"), name: "a-folder" } },
    components,
    dependencies: [{ ref: "millrace@1.0.0", dependsOn: ["vitest@1.0.0", "zod@4.6.7"] }, { ref: "vitest@1.0.0" }],
  };
  const sbom = sbomOf(whole, titles);
  expect(sbom.components.map((each) => [each.name, each.properties])).toEqual([
    ["zod", []],
    ["@a/b", []],
  ]);
  expect(sbom.metadata.component.name).toBe("millrace"); // not the folder's name
  expect(sbom.dependencies).toEqual([{ ref: "millrace@1.0.0", dependsOn: ["zod@4.6.7"] }]);
  expect(() => sbomOf(whole, [...titles, "left-pad 1.0.0"])).toThrow("npm does not know left-pad 1.0.0");
});

test("the container runs without rights, and its recipe names the tested version of Redis' client", () => {
  const recipe = read("Containerfile");
  expect(recipe.split("FROM").at(-1)).toMatch(/^USER node$/m);
  expect(recipe).toContain(`redis@${manifest.devDependencies["redis"]}`);
});
