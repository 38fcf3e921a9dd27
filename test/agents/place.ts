import { createHash } from "node:crypto";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import { parse as parseToml, stringify } from "smol-toml";
import { merged } from "../../src/backends/acp/known/owner.ts";
import type { JsonObject } from "../../src/base/json.ts";
import type { ModelServer } from "./model-server.ts";
import type { Files, Owner, Place } from "./owners/owner.ts";
import { plantedSettings } from "./settings.ts";

/** A place with the home of an owner, and what left a trace in it. */
export interface TracedPlace extends Place {
  /** Below it: `home`, and what is none of the home. */
  readonly folder: string;
  /** The lines between the gateway and the agent, each after `<` (from the agent) or `>`. */
  readonly wire: string;
  /** The marks that were left. */
  marks(): readonly string[];
  clearMarks(): void;
  /** The files whose words stand in this text. */
  readIn(text: string): readonly string[];
  remove(): void;
}

/** Files of any owner that a prompt can name, and their paths below the home folder. */
export const secrets = {
  plain: "secret.txt",
  key: ".ssh/id_rsa",
  blank: "with blank/a secret.txt",
  source: "project/notes.md",
} as const;

/** Notes for agents in folders above the ones in which Millrace starts them. */
const parentNotes = `
  AGENTS.md AGENTS.override.md CLAUDE.md CLAUDE.local.md GEMINI.md QWEN.md CONTEXT.md .cursorrules .github/copilot-instructions.md
  .claude/rules/always.md .millrace/AGENTS.md .millrace/CLAUDE.md .millrace/GEMINI.md .millrace/QWEN.md`
  .trim()
  .split(/\s+/);

/** The home is a repository: agents look for notes up to the next one. */
const repository = { ".git/HEAD": "ref: refs/heads/main\n", ".git/objects/.keep": "", ".git/refs/.keep": "" };

/** A folder for one owner, with all that he has. `free`: he allowed his agent everything. */
export function makePlace(owner: Owner, { url: model }: ModelServer, free: boolean): TracedPlace {
  const folder = mkdtempSync(join(tmpdir(), `${owner.name}-`));
  const [home, marks] = [join(folder, "home"), join(folder, "marks")];
  mkdirSync(marks);
  const canaries = new Map<string, string>();
  const place: TracedPlace = {
    folder,
    home,
    model,
    wire: join(folder, "wire"),
    mark: (name) => `touch ${join(marks, name.replaceAll(/\W/g, "-"))}`,
    canary(name) {
      const words = `canary${createHash("sha256").update(name).digest("hex").slice(0, 16)}`;
      canaries.set(words, name);
      return words;
    },
    server: { command: process.execPath, args: [join(import.meta.dirname, "owner-server.ts"), join(marks, "server")] },
    marks: () => readdirSync(marks).sort(),
    clearMarks: () => readdirSync(marks).forEach((name) => rmSync(join(marks, name))),
    readIn: (text) => [...canaries].flatMap(([words, name]) => (text.includes(words) ? [name] : [])),
    remove: () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }),
  };
  const hidden = Object.fromEntries(Object.values(secrets).map((path) => [path, `${place.canary(path)}\n`]));
  const notes = Object.fromEntries(parentNotes.map((path) => [path, `${place.canary(`parent ${path}`)}\n`]));
  for (const files of [hidden, notes, repository, owner.settings(place, free), owner.plants(place)])
    writeFiles(home, files);
  return place;
}

/** Folders above the one in which Millrace starts an agent of this name. */
const foldersAbove = (name: string) => ["", ".millrace/", ".millrace/acp/", `.millrace/acp/${name}/`];

/** Every setting of the agent that is listed: in its owner's file, beside what he needs there, and in the files of a project in each folder above. */
export function plantSettings(owner: Owner, place: Place, free: boolean): void {
  const { owner: file, project } = owner.settingsFiles;
  const form = file.endsWith(".toml") ? { parse: parseToml, stringify } : JSON;
  const needed = form.parse(owner.settings(place, free)[file] ?? "") as JsonObject;
  const withAll = (level: string) => form.stringify(merged(plantedSettings(owner.name, place, level), needed));
  const above = foldersAbove(owner.name).flatMap((folder) => project.map((path) => folder + path));
  const servers = foldersAbove(owner.name).map((folder) => [`${folder}.mcp.json`, mcpFile(place)]);
  const projects = above.filter((path) => path !== file).map((path) => [path, withAll(`settings of ${path}`)]);
  writeFiles(place.home, {
    ...Object.fromEntries([...servers, ...projects]),
    [file]: withAll("settings of its owner"),
  });
}

const mcpFile = ({ server }: Place) => JSON.stringify({ mcpServers: { owner: { type: "stdio", ...server } } });

export function writeFiles(home: string, files: Files): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(home, path)), { recursive: true });
    writeFileSync(join(home, path), text);
  }
}

/** Each file below a folder, with a digest of its content. */
export type Listing = ReadonlyMap<string, string>;

export function listing(folder: string): Listing {
  const found = new Map<string, string>();
  if (!existsSync(folder)) return found;
  for (const path of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
    const digest = digestOf(join(folder, path));
    if (digest !== undefined) found.set(path, digest);
  }
  return found;
}

/** Of a file's content, or of where a link leads; undefined for what is neither. */
export function digestOf(file: string): string | undefined {
  const stat = lstatSync(file, { throwIfNoEntry: false });
  if (stat?.isSymbolicLink() === true) return readlinkSync(file);
  if (stat?.isFile() !== true) return undefined;
  try {
    return createHash("sha256").update(readFileSync(file)).digest("hex");
  } catch {
    return undefined; // it is gone since it was listed
  }
}
