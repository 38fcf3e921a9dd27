import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { powershellErrors } from "../test/support/powershell.ts";
import { installerFor, releaseFields } from "./release.ts";

const env = { GITHUB_SERVER_URL: "https://github.com", GITHUB_REPOSITORY: "ann/millrace", GITHUB_REF_NAME: "v1.2.3" };
const repository = "https://github.com/ann/millrace";
const release = { repository, homepage: "", bugs: "" };

test("the package says that it comes from the repository of release.json", () => {
  expect(releaseFields(release, "1.2.3", env)).toEqual({
    repository: { type: "git", url: "git+https://github.com/ann/millrace.git" },
    homepage: "https://github.com/ann/millrace#readme",
    bugs: { url: "https://github.com/ann/millrace/issues" },
  });
  const own = { ...release, homepage: "https://millrace.example", bugs: "https://bugs.example" };
  expect(releaseFields(own, "1.2.3", env)).toMatchObject({ homepage: own.homepage, bugs: { url: own.bugs } });
});

test("there is no release without a repository, from a fork, or of another version than the tag's", () => {
  expect(releaseFields({ ...release, repository: "" }, "1.2.3", env)).toBe(
    `release.json names no repository. Set its "repository" to "${repository}".`,
  );
  expect(releaseFields(release, "1.2.3", { ...env, GITHUB_REPOSITORY: "bob/fork" })).toContain(
    "runs in https://github.com/bob/fork",
  );
  expect(releaseFields(release, "1.2.4", env)).toContain("The tag is v1.2.3, but package.json has version 1.2.4");
});

test("the install scripts of a release know its address, and are scripts", async () => {
  const address = "https://millrace.example/latest";
  const sh = installerFor("install.sh", address);
  expect(sh).toContain(`download=\${MILLRACE_DOWNLOAD:-${address}}`);
  expect(spawnSync("sh", ["-n"], { input: sh, encoding: "utf8" })).toMatchObject({ status: 0, stderr: "" });
  const ps1 = installerFor("install.ps1", address);
  expect(ps1).toContain(`if (-not $download) { $download = '${address}' }`);
  expect(await powershellErrors(ps1)).toEqual([]);
});

test("what the release workflow runs needs nothing that is installed", () => {
  const files = ["release.ts", "release/manifests.ts", "single-file.ts"];
  const imports = files.flatMap((file) => [
    ...readFileSync(join(import.meta.dirname, file), "utf8").matchAll(/^import .* from "(.*)";$/gm),
  ]);
  expect(imports.length).toBeGreaterThan(8);
  for (const [, from] of imports) expect(from).toMatch(/^node:|^\.\.?\//);
});
