import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { z } from "zod";
import { platforms } from "../single-file.ts";
import { manifestsOf, notesOf } from "./manifests.ts";

const release = {
  version: "1.2.3",
  description: 'Serves the models of "your" IDE on 127.0.0.1, and more.',
  homepage: "https://millrace.example/",
  files: "https://millrace.example/files/v1.2.3",
  sums: Object.fromEntries(platforms.map((platform, at) => [platform, String(at).repeat(64)])),
};
const made = manifestsOf(release);
const text = (name: string) => made[name] ?? "";

const hasRuby = spawnSync("ruby", ["--version"]).status === 0;
test.skipIf(!hasRuby)("the Homebrew formula is Ruby", () => {
  const { status, stdout, stderr } = spawnSync("ruby", ["-wc"], { input: text("millrace.rb"), encoding: "utf8" });
  expect({ status, said: stdout + stderr }).toEqual({ status: 0, said: "Syntax OK\n" });
});

test("the formula names the program of each system and processor with its own checksum", () => {
  const named = [...text("millrace.rb").matchAll(/url "(.*)"\n\s+sha256 "(.*)"/g)].map(([, url, sum]) => [url, sum]);
  const wanted = platforms.filter((platform) => platform !== "win32-x64");
  expect(new Set(named)).toEqual(
    new Set(wanted.map((platform) => [`${release.files}/millrace-${platform}`, release.sums[platform]])),
  );
});

const sha256 = z.string().regex(/^[0-9a-fA-F]{64}$/);
test("the Scoop manifest has the form that Scoop reads", () => {
  const scoop = z.strictObject({
    version: z.literal("1.2.3"),
    description: z.string(),
    homepage: z.url(),
    license: z.literal("MIT"),
    architecture: z.strictObject({ "64bit": z.strictObject({ url: z.url(), hash: sha256 }) }),
    bin: z.string(),
  });
  const { architecture, bin } = scoop.parse(JSON.parse(text("scoop.json")));
  expect(architecture["64bit"]).toEqual({
    url: `${release.files}/millrace-win32-x64.exe#/${bin}`, // the name that it gets
    hash: release.sums["win32-x64"],
  });
});

test("the winget manifests have the form that winget reads, and name each other", () => {
  const own = { PackageIdentifier: z.literal("Millrace.Millrace"), PackageVersion: z.literal("1.2.3") };
  const last = { ManifestVersion: z.literal("1.10.0") };
  const kinds = {
    ".yaml": z.strictObject({ ...own, DefaultLocale: z.literal("en-US"), ManifestType: z.literal("version"), ...last }),
    ".locale.en-US.yaml": z.strictObject({
      ...own,
      PackageLocale: z.literal("en-US"),
      Publisher: z.string().min(2),
      PackageName: z.string().min(2),
      PackageUrl: z.url(),
      License: z.literal("MIT"),
      ShortDescription: z.string().min(3).max(256),
      ManifestType: z.literal("defaultLocale"),
      ...last,
    }),
    ".installer.yaml": z.strictObject({
      ...own,
      InstallerType: z.literal("portable"),
      Commands: z.tuple([z.literal("millrace")]),
      Installers: z.tuple([
        z.strictObject({ Architecture: z.literal("x64"), InstallerUrl: z.url(), InstallerSha256: sha256 }),
      ]),
      ManifestType: z.literal("installer"),
      ...last,
    }),
  };
  for (const [ending, kind] of Object.entries(kinds))
    expect(kind.safeParse(parse(text(`Millrace.Millrace${ending}`))).error).toBeUndefined();
});

test("the container takes the checked program of Linux, and the page of the release has a line for each way", () => {
  expect(text("Containerfile")).toContain(
    `ADD --checksum=sha256:${release.sums["linux-x64"]} --chmod=755 ${release.files}/millrace-linux-x64 `,
  );
  const notes = notesOf(release, "https://millrace.example/latest");
  expect(notes).toContain("curl -fsSL https://millrace.example/latest/install.sh | sh");
  expect(notes).toContain("irm https://millrace.example/latest/install.ps1 | iex");
  for (const name of Object.keys(made)) expect(notes).toContain(name.replace(/\..*yaml$/, ""));
});

test("a release that lacks a program has no manifests", () => {
  expect(() => manifestsOf({ ...release, sums: {} })).toThrow("no program for");
});
