import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { OutputChunk } from "rolldown";

/** A library whose code is in the package, with what its licence asks to be told. */
export interface Bundled {
  readonly name: string;
  readonly version: string;
  /** The licence by its short name. */
  readonly identifier: string | null;
  readonly text: string | null;
}

/** The libraries that chunks hold code of. */
export function bundledIn(chunks: readonly OutputChunk[]): readonly Bundled[] {
  const modules = new Map<string, string[]>();
  for (const id of chunks.flatMap(({ moduleIds }) => moduleIds)) {
    const folder = packageFolder(id);
    if (folder !== undefined) modules.set(folder, [...(modules.get(folder) ?? []), id]);
  }
  return [...modules].map(([folder, files]) => read(folder, files));
}

/** The folder of the package that a module belongs to, if it belongs to one. */
function packageFolder(moduleId: string): string | undefined {
  return /^[^\0]*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(moduleId.replaceAll("\\", "/"))?.[0];
}

function read(folder: string, modules: readonly string[]): Bundled {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as {
    readonly name: string;
    readonly version: string;
    readonly license?: string;
  }; // npm itself demands name and version
  const files = readdirSync(folder).filter((file) => /^(licen[cs]e|notice|copying)(\.(md|txt))?$/i.test(file));
  const texts =
    files.length > 0 ? files.map((file) => readFileSync(join(folder, file), "utf8").trim()) : headers(modules);
  return { name, version, identifier: license ?? null, text: texts.join("\n\n") || null };
}

/** The notices at the head of modules, each once: some packages keep theirs only there. */
function headers(modules: readonly string[]): readonly string[] {
  const heads = modules.map(
    (file) => /^(?:\/\/.*\n)+/.exec(readFileSync(file.replace(/\?.*$/, ""), "utf8"))?.[0] ?? "",
  );
  const notes = heads.filter((head) => head.includes("Copyright")).map((head) => head.replace(/^\/\/ ?/gm, "").trim());
  return [...new Set(notes)];
}

/**
 * The text of the file that is shipped: each library once, in the order of the names.
 *
 * @throws Error when a library names no licence, or nothing says what the licence is.
 */
export function notices(libraries: readonly Bundled[]): string {
  const unique = new Map(libraries.map((library) => [`${library.name} ${library.version}`, library]));
  const parts = [...unique]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([title, { identifier, text }]) => {
      if (identifier === null || text === null) throw new Error(`${title} comes without the text of its licence.`);
      return `${title} (${identifier.replace(/^\(|\)$/g, "")})\n\n${text.trim()}\n`;
    });
  const whole = parts.join(`\n${"-".repeat(80)}\n\n`);
  // Apache asks for its full text once; the heads of modules only name it.
  if (
    whole.includes("Licensed under the Apache License") &&
    !whole.includes("TERMS AND CONDITIONS FOR USE, REPRODUCTION")
  )
    throw new Error("A library is under the Apache License, and no library brings its text.");
  return `Millrace holds code of these libraries. Their authors ask for these notices.\n\n${whole}`;
}
