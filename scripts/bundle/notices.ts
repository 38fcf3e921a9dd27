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
  return [...modules].flatMap(([folder, files]) => [read(folder, files), ...carriedBy(folder, files)]);
}

/**
 * Libraries that another package carries in its own files, which say nothing of them. Their version stands in the code that carries them:
 * with another one, look at its licence again. pdf.js brings its parts for JPEG 2000 and colour profiles under BSD-2-Clause.
 */
export const carried: Readonly<Record<string, Bundled>> = {
  unpdf: {
    name: "pdfjs-dist",
    version: "6.1.200",
    identifier: "Apache-2.0 AND BSD-2-Clause",
    text: [
      "Copyright 2024 Mozilla Foundation",
      "Licensed under the Apache License, Version 2.0: http://www.apache.org/licenses/LICENSE-2.0",
      "Its code for OpenJPEG and QCMS:\nCopyright (c) 2024, 2025 Mozilla Foundation",
      "Redistribution and use in source and binary forms, with or without modification, are permitted provided that the following conditions are met:",
      "1. Redistributions of source code must retain the above copyright notice, this list of conditions and the following disclaimer.",
      "2. Redistributions in binary form must reproduce the above copyright notice, this list of conditions and the following disclaimer in the documentation and/or other materials provided with the distribution.",
      'THIS SOFTWARE IS PROVIDED BY THE COPYRIGHT HOLDERS AND CONTRIBUTORS "AS IS" AND ANY EXPRESS OR IMPLIED WARRANTIES, INCLUDING, BUT NOT LIMITED TO, THE IMPLIED WARRANTIES OF MERCHANTABILITY AND FITNESS FOR A PARTICULAR PURPOSE ARE DISCLAIMED. IN NO EVENT SHALL THE COPYRIGHT HOLDER OR CONTRIBUTORS BE LIABLE FOR ANY DIRECT, INDIRECT, INCIDENTAL, SPECIAL, EXEMPLARY, OR CONSEQUENTIAL DAMAGES (INCLUDING, BUT NOT LIMITED TO, PROCUREMENT OF SUBSTITUTE GOODS OR SERVICES; LOSS OF USE, DATA, OR PROFITS; OR BUSINESS INTERRUPTION) HOWEVER CAUSED AND ON ANY THEORY OF LIABILITY, WHETHER IN CONTRACT, STRICT LIABILITY, OR TORT (INCLUDING NEGLIGENCE OR OTHERWISE) ARISING IN ANY WAY OUT OF THE USE OF THIS SOFTWARE, EVEN IF ADVISED OF THE POSSIBILITY OF SUCH DAMAGE.',
    ].join("\n\n"),
  },
};

/** The library that a package carries, once its code was seen to have that version. */
function carriedBy(folder: string, modules: readonly string[]): readonly Bundled[] {
  const inside = carried[folder.replace(/^.*\/node_modules\//, "")];
  if (inside === undefined) return [];
  const code = modules.map((file) => readFileSync(file.replace(/\?.*$/, ""), "utf8")).join("\n");
  if (code.includes(inside.version)) return [inside];
  throw new Error(`${folder} does not carry ${inside.name} ${inside.version}: look at the licence of what it carries.`);
}

/**
 * Holders of rights that the bundled modules name and the notices do not: what a package copied from elsewhere keeps its name only
 * in a comment.
 */
export function unnamedHolders(chunks: readonly OutputChunk[], told: string): readonly string[] {
  const words = (text: string) =>
    text
      .replaceAll(/\(c\)|©|[\d,.\s-]+|copyright|all rights reserved/gi, " ")
      .trim()
      .toLowerCase();
  const known = words(told).replaceAll(/\s+/g, " ");
  const named = new Set<string>();
  for (const id of new Set(
    chunks.flatMap(({ moduleIds }) => moduleIds).filter((id) => packageFolder(id) !== undefined),
  ))
    for (const [, line = ""] of readFileSync(id.replace(/\?.*$/, ""), "utf8").matchAll(
      /(?:^|\n)\s*(?:\/\/|\/?\*+!?)[^\n]*?\b(copyright\s+(?:\(c\)|©|\d{4})[^\n*]*)/gi,
    ))
      if (!known.includes(words(line).split(/\s+/)[0] ?? "")) named.add(`${packageFolder(id)}: ${line.trim()}`);
  return [...named];
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
