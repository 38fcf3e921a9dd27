import type { IdeVariant } from "../../language-server/transport/endpoint.ts";
import type { Platform, ServerEnvironment } from "../host/host.ts";

/**
 * Names of a product's data folder, today's first. A machine that was upgraded may have the old one, the new one or both.
 * Source: docs/dev/wire/devin-desktop.md, "Data folders".
 */
const dataFolders: Readonly<Record<IdeVariant, readonly string[]>> = {
  windsurf: ["Devin", "Windsurf"],
  "windsurf-next": ["Devin - Next", "Windsurf - Next", "Windsurf Next"],
  antigravity: ["Antigravity", "Antigravity IDE"],
};

const remoteFolders: Readonly<Record<IdeVariant, readonly string[]>> = {
  windsurf: [".devin-server", ".windsurf-server"],
  "windsurf-next": [".devin-next-server", ".windsurf-next-server"],
  antigravity: [".antigravity-ide-server", ".antigravity-server"],
};

const stateFile = ["User", "globalStorage", "state.vscdb"] as const;

/** Joins in the style of the first part, so that Windows paths stay Windows paths on every system. */
export function joinPath(base: string, ...parts: readonly string[]): string {
  const separator = /^[A-Za-z]:|\\/.test(base) ? "\\" : "/";
  return [base.replace(/[\\/]+$/, ""), ...parts].join(separator);
}

/**
 * A path as its system compares paths. macOS and Windows know no case by default. macOS also takes both Unicode forms of a letter for one: a
 * folder may be named in one form in a variable, and in the other by the file system.
 */
export function comparablePath(path: string, platform: Platform): string {
  if (platform === "linux") return path;
  const lower = path.normalize("NFC").toLowerCase();
  return platform === "windows" ? lower.replaceAll("/", "\\") : lower;
}

export interface StateQuestion {
  readonly platform: Platform;
  readonly variant: IdeVariant;
  /** The process's own variables; undefined when the system hides them. */
  readonly environment: ServerEnvironment | undefined;
  /** `--user-data-dir` of the IDE that started the server, where it is known. */
  readonly userDataDir: string | undefined;
  /** Finds that out where it costs a program to start; asked only when several accounts were found. */
  readonly askUserDataDir?: (signal: AbortSignal) => Promise<string | undefined>;
  /** Where to look when the process does not say whose home it lives in. */
  readonly homes: readonly string[];
  /** Names of the folders in `<home>/.var/app` (Flatpak) and `<home>/snap`, by home. */
  readonly sandboxes: ReadonlyMap<string, { readonly flatpak: readonly string[]; readonly snap: readonly string[] }>;
}

/** Files of one place, of which the newest with an account counts, and the reason why they belong together. */
export interface StatePlace {
  readonly files: readonly string[];
  /** `named`: the process names the place; `searched`: such IDEs keep it there. */
  readonly by: "named" | "searched";
}

/**
 * Where this IDE's `state.vscdb` may be, likeliest place first. What the process says of itself (its home, its configuration
 * folder, a portable folder) comes first and, if it names its home, alone: a key from another home is another account's.
 */
export function statePlaces(question: StateQuestion): readonly StatePlace[] {
  const { platform, variant, environment, userDataDir } = question;
  const places: StatePlace[] = [];
  const seen = new Set<string>();
  const add = (by: StatePlace["by"], all: readonly string[]) => {
    const files = all.filter((file) => !seen.has(file));
    for (const file of files) seen.add(file);
    if (files.length > 0) places.push({ files, by });
  };
  if (userDataDir !== undefined) add("named", [joinPath(userDataDir, ...stateFile)]);
  const portable = nonEmpty(environment?.get("VSCODE_PORTABLE"));
  if (portable !== undefined) add("named", [joinPath(portable, "user-data", ...stateFile)]);
  for (const folder of configFolders(question)) {
    add(
      "searched",
      dataFolders[variant].map((name) => joinPath(folder, name, ...stateFile)),
    );
  }
  for (const home of homesOf(platform, environment, question.homes)) {
    add(
      "searched",
      remoteFolders[variant].map((name) => joinPath(home, name, "data", ...stateFile)),
    );
  }
  return places;
}

/** The `state.vscdb` of a data folder. */
export function stateFileOf(dataFolder: string): string {
  return joinPath(dataFolder, ...stateFile);
}

/** The data folder of a `state.vscdb`; undefined for a file that lies elsewhere. */
export function dataFolderOf(file: string): string | undefined {
  return /^(.+)[\\/]User[\\/]globalStorage[\\/]state\.vscdb$/.exec(file)?.[1];
}

/** The folders that hold `.codeium`: the process's own home if it says so, else the ones given. */
export function homesOf(
  platform: Platform,
  environment: ServerEnvironment | undefined,
  homes: readonly string[],
): readonly string[] {
  // On Windows a HOME comes from a Unix-like shell, and may be written as that shell does.
  const own = nonEmpty(environment?.get(platform === "windows" ? "USERPROFILE" : "HOME"));
  return own === undefined ? homes : [own];
}

/** Whether a process that has these variables belongs to this home. */
export function isOfHome(home: string, platform: Platform, environment: ServerEnvironment | undefined): boolean {
  const wanted = comparablePath(home, platform);
  return homesOf(platform, environment, []).some((own) => comparablePath(own, platform) === wanted);
}

function configFolders(question: StateQuestion): readonly string[] {
  const { platform, environment, sandboxes } = question;
  const homes = homesOf(platform, environment, question.homes);
  switch (platform) {
    case "linux": {
      const said = nonEmpty(environment?.get("XDG_CONFIG_HOME"));
      const folders = said === undefined ? [] : [said];
      folders.push(...homes.map((home) => joinPath(home, ".config")));
      for (const home of homes) {
        const boxes = sandboxes.get(home);
        for (const app of boxes?.flatpak ?? []) folders.push(joinPath(home, ".var", "app", app, "config"));
        for (const snap of boxes?.snap ?? []) folders.push(joinPath(home, "snap", snap, "current", ".config"));
      }
      return folders;
    }
    case "darwin":
      return homes.map((home) => joinPath(home, "Library", "Application Support"));
    case "windows": {
      const said = nonEmpty(environment?.get("APPDATA"));
      return said === undefined ? homes.map((home) => joinPath(home, "AppData", "Roaming")) : [said];
    }
    default:
      return platform satisfies never;
  }
}

/** The extension's folder, from the path of its binary: `<folder>/bin/language_server_…`; "" if the path has another form. */
export function extensionFolderOf(program: string): string {
  return /^(.+)[\\/]bin[\\/][^\\/]+$/.exec(program)?.[1] ?? "";
}

function nonEmpty(text: string | undefined): string | undefined {
  return text === "" ? undefined : text;
}
