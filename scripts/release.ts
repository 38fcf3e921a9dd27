import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** `release.json`: where the published package says it comes from. It is filled in once, before the first release. */
interface Release {
  /** `https://github.com/OWNER/NAME`. */
  readonly repository: string;
  /** The README of the repository where empty. */
  readonly homepage: string;
  /** The issues of the repository where empty. */
  readonly bugs: string;
}

/** The fields that a release adds to `package.json`, or the sentence that says why there can be no release. */
export function releaseFields(
  { repository, homepage, bugs }: Release,
  version: string,
  env: Readonly<Record<string, string | undefined>>,
): object | string {
  const here = `${env["GITHUB_SERVER_URL"] ?? ""}/${env["GITHUB_REPOSITORY"] ?? ""}`;
  if (repository === "") return `release.json names no repository. Set its "repository" to "${here}".`;
  // npm refuses the proof of another repository's workflow
  if (repository !== here) return `release.json names ${repository}, but this workflow runs in ${here}.`;
  if (env["GITHUB_REF_NAME"] !== `v${version}`)
    return `The tag is ${env["GITHUB_REF_NAME"] ?? "missing"}, but package.json has version ${version}.`;
  return {
    repository: { type: "git", url: `git+${repository}.git` },
    homepage: homepage || `${repository}#readme`,
    bugs: { url: bugs || `${repository}/issues` },
  };
}

/* `release.ts FOLDER`, run by the release workflow alone: writes them into the package.json of a built package. */
if (process.argv[1] === import.meta.filename) {
  const file = join(process.argv[2] ?? "", "package.json");
  const read = (path: string) => JSON.parse(readFileSync(path, "utf8")) as Release & { readonly version: string }; // our own files
  const manifest = read(file);
  const fields = releaseFields(read(join(import.meta.dirname, "../release.json")), manifest.version, process.env);
  if (typeof fields === "string") {
    console.error(fields);
    process.exitCode = 1;
  } else writeFileSync(file, `${JSON.stringify({ ...manifest, ...fields }, null, 2)}\n`);
}
