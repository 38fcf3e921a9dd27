import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { type ParseError, parse } from "jsonc-parser";
import { parse as parseToml } from "smol-toml";
import { MillraceError } from "../../../base/errors.ts";
import { isObject, type JsonObject } from "../../../base/json.ts";

/** The environment that an agent's user gives it. */
export type Variables = Readonly<Record<string, string>>;

/** No settings of a person are larger; bytes. */
const mostBytes = 4 * 1024 * 1024;

/** Variables that move a folder of the home, and what the folder is called there. */
const moved: readonly (readonly [folder: string, variable: string, below: string])[] = [
  [".codex/", "CODEX_HOME", ""],
  [".claude/", "CLAUDE_CONFIG_DIR", ""],
  [".claude.json", "CLAUDE_CONFIG_DIR", ".claude.json"],
  [".qwen/", "QWEN_HOME", ""],
  [".gemini/", "GEMINI_CLI_HOME", ".gemini"],
  [".config/", "XDG_CONFIG_HOME", ""],
  [".local/share/", "XDG_DATA_HOME", ""],
];

/** The home of the agent's user. Only single files of it are read, each up to a limit. */
export class Owner {
  readonly variables: Variables;
  readonly home: string;

  constructor(variables: Variables) {
    this.variables = variables;
    this.home = variables["HOME"] ?? variables["USERPROFILE"] ?? homedir();
  }

  /** Where a file below the home is. */
  path(file: string): string {
    for (const [folder, variable, below] of moved) {
      const place = this.variables[variable];
      if (place !== undefined && place !== "" && file.startsWith(folder))
        return join(place, below, file.slice(folder.length));
    }
    return join(this.home, file);
  }

  /** Throws `invalid_request` for a file that is too large or cannot be read; undefined where there is none. */
  async text(path: string): Promise<string | undefined> {
    try {
      const file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
      try {
        const stat = await file.stat();
        if (!stat.isFile() || stat.size > mostBytes) throw new Error("it is no file, or larger than 4 MB");
        return await file.readFile("utf8");
      } finally {
        await file.close();
      }
    } catch (error) {
      if (["ENOENT", "ENOTDIR", "ELOOP"].includes((error as NodeJS.ErrnoException).code ?? "")) return undefined; // fs throws nothing else
      throw unreadable(path, error);
    }
  }

  /** The object of a JSON file, which may have comments; empty without the file. */
  async json(path: string): Promise<JsonObject> {
    return readJson((await this.text(path)) ?? "", path);
  }

  /** As `json`. */
  async toml(path: string): Promise<JsonObject> {
    const text = (await this.text(path)) ?? "";
    try {
      return parseToml(text);
    } catch (error) {
      throw unreadable(path, error);
    }
  }

  /** The lines `NAME=value` of a file. */
  async dotenv(path: string): Promise<Variables> {
    const lines = ((await this.text(path)) ?? "").matchAll(
      /^[ \t]*(?:export[ \t]+)?(\w+)[ \t]*=[ \t]*(.*?)[ \t]*\r?$/gm,
    );
    return Object.fromEntries(
      [...lines].map(([, name = "", value = ""]) => [name, value.replace(/^(["'])(.*)\1$/, "$2")]),
    );
  }
}

/** `where`: the file or variable, for the error. */
export function readJson(text: string, where: string): JsonObject {
  const errors: ParseError[] = [];
  const value: unknown = text.trim() === "" ? {} : parse(text, errors, { allowTrailingComma: true });
  if (errors.length > 0 || !isObject(value)) throw unreadable(where, new SyntaxError("it is no JSON object"));
  return value;
}

function unreadable(where: string, error: unknown): MillraceError {
  const why = error instanceof Error ? error.message.split("\n")[0] : String(error);
  return new MillraceError("invalid_request", `The agent's settings in ${where} cannot be read: ${why}.`, {
    hint: "Correct the file or the variable. Millrace reads from it how the agent signs in and where its model is.",
    cause: error,
  });
}

/** The members with these names. */
export function picked(object: unknown, names: string): JsonObject {
  const wanted = names.split(" ");
  return isObject(object) ? Object.fromEntries(Object.entries(object).filter(([name]) => wanted.includes(name))) : {};
}

/** The second object's members over the first one's, at each level. */
export function merged(below: JsonObject, above: JsonObject): JsonObject {
  const both = Object.entries(above).map(([key, value]) => {
    const under = below[key];
    return [key, isObject(value) && isObject(under) ? merged(under, value) : value];
  });
  return { ...below, ...Object.fromEntries(both) };
}
