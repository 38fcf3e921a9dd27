import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { manifestsOf, notesOf } from "./release/manifests.ts";
import { fileName, makeSingleFiles, version as nodeVersion, platforms } from "./single-file.ts";

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

/** Where a release's files are: those of this version, and those of the newest one. */
interface Addresses {
  readonly files: string;
  readonly latest: string;
  readonly homepage: string;
}

/**
 * Writes all files of a release of the built package in `folder`: the program for each platform, checksums, the list of libraries, the install
 * scripts, the manifests of package managers and the text of the release's page.
 */
export function writeRelease(folder: string, to: string, addresses: Addresses): void {
  const { version, description } = readManifest(folder);
  makeSingleFiles(folder, platforms, to);
  const lines = platforms.map((platform) => readFileSync(join(to, `${fileName(platform)}.sha256`), "utf8"));
  const sums = Object.fromEntries(platforms.map((platform, at) => [platform, lines[at]?.slice(0, 64) ?? ""]));
  const write = (name: string, text: string) => writeFileSync(join(to, name), text);
  write("SHA256SUMS", lines.join(""));
  const sbom = JSON.parse(readFileSync(join(folder, "dist/sbom.cdx.json"), "utf8")) as {
    readonly components: object[];
  };
  sbom.components.push({
    type: "application",
    name: "node",
    version: nodeVersion,
    purl: `pkg:generic/node@${nodeVersion}`,
  });
  write("millrace.cdx.json", `${JSON.stringify(sbom, null, 2)}\n`);
  for (const [name, text] of Object.entries(manifestsOf({ version, description, sums, ...addresses })))
    write(name, text);
  write("notes.md", notesOf({ version, ...addresses }, addresses.latest));
  for (const name of ["install.sh", "install.ps1"]) write(name, installerFor(name, addresses.latest));
}

/** The install script of a release, which knows the address of its files. */
export function installerFor(name: string, address: string): string {
  const text = readFileSync(join(import.meta.dirname, "install", name), "utf8");
  const known = text
    .replace("{MILLRACE_DOWNLOAD:-}", `{MILLRACE_DOWNLOAD:-${address}}`)
    .replace(/throw 'No release[^']*'/, `$download = '${address}'`);
  if (known === text) throw new Error(`${name} has no place for its address.`);
  return known;
}

interface Manifest {
  readonly version: string;
  readonly description: string;
  readonly homepage: string;
  readonly repository: { readonly url: string };
}
const readManifest = (folder: string) => JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest; // our own

/*
 * Run by the release workflow alone. `release.ts FOLDER` writes the fields into the package.json of a built package, `release.ts FOLDER TO` all
 * files of its release.
 */
if (process.argv[1] === import.meta.filename) {
  const [folder = "", to] = process.argv.slice(2);
  const manifest = readManifest(folder);
  const release = JSON.parse(readFileSync(join(import.meta.dirname, "../release.json"), "utf8")) as Release; // our own
  const fields = releaseFields(release, manifest.version, process.env);
  if (typeof fields === "string") {
    console.error(fields);
    process.exitCode = 1;
  } else if (to === undefined) {
    writeFileSync(join(folder, "package.json"), `${JSON.stringify({ ...manifest, ...fields }, null, 2)}\n`);
  } else {
    const releases = `${release.repository}/releases`;
    const files = `${releases}/download/v${manifest.version}`;
    writeRelease(folder, to, { files, latest: `${releases}/latest/download`, homepage: manifest.homepage });
  }
}
