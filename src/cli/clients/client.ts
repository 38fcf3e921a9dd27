import { join } from "node:path";
import { loopbackExemption } from "../../base/node/loopback.ts";
import { type Shell, setVariable } from "../terminal/shell.ts";

/** A model as the gateway lists it. */
export interface ListedModel {
  readonly id: string;
  readonly name: string;
  readonly contextTokens: number | undefined;
  readonly maxOutputTokens: number | undefined;
  readonly images: boolean;
}

/** The gateway and model that a client is set up for. */
export interface Target {
  /** `http://127.0.0.1:42100`, without a path. */
  readonly url: string;
  readonly model: string;
  /** Why this one, where neither the user nor the account named it. */
  readonly why?: string | undefined;
  /** Those that are written into a configuration; the one above is the first of them. */
  readonly models: readonly ListedModel[];
  /** The one for titles and other small work: a model that costs nothing, else the model above. */
  readonly small: string;
  /** The account's newest model of each family: `claude-opus` to `claude-opus-4.6`. */
  readonly newest: Readonly<Record<string, string>>;
  /** The user's shell, for the lines to type. */
  readonly shell: Shell;
}

/** The user's folders and variables. */
export interface Machine {
  readonly homeFolder: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly platform: NodeJS.Platform;
  /** Millrace's own folder. */
  readonly ownFolder: string;
  /** The root of the files that an administrator writes; `/` by default. */
  readonly systemFolder?: string;
}

/** An administrator's settings of one client. */
export interface Policy {
  /**
   * Where they are, by system: a file, or a folder whose files (`.json`) all count. A `.plist` is what a Mac's management laid down, for all
   * users or (in a folder of the user's name) for one.
   */
  readonly paths: Readonly<Record<"linux" | "darwin" | "win32", readonly string[]>>;
  /** Those that lead the client elsewhere, as dotted paths. */
  readonly settings: readonly string[];
  /** A variable that names another file of them. */
  readonly variable?: string;
  /** A file of the project, which wins over `launch` as theirs do. */
  readonly ofProject?: string;
}

/** How the first of a client's programs is started, pointed at the gateway. */
export interface ClientStart {
  /** Arguments before those of the user. */
  readonly args?: readonly string[];
  /** Undefined takes a variable of the user away. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Files of this run that the arguments name. No key stands in them. */
  readonly files?: readonly { readonly file: string; readonly text: string }[];
}

/** A key that one client alone has, and ways to it. */
interface ClientKey {
  readonly value: string;
  /** A variable with a random name, so that no file of a project can name it. */
  readonly variable: string;
  /** A shell's command line that prints the key. */
  readonly command: string;
}

/** The key of one run. It ends with the run; its variable stands in the client's environment. */
export interface RunKey extends ClientKey {
  /** For the files of this run. */
  readonly folder: string;
}

/** The key of a client that is set up. It ends with `--undo`. */
export interface SetupKey extends ClientKey {
  /** The command line that prints it, as the user types it. */
  readonly typed: string;
  /** The command that prints it, as a program and its arguments. */
  readonly words: readonly string[];
}

/** One client, as data: how its configuration is changed, and how it is started without changing it. */
export interface Client {
  readonly name: string;
  /** What people type in its place. */
  readonly aliases?: readonly string[];
  readonly title: string;
  /** Its programs by the names that a shell finds them by: where one is on the PATH, it is installed. */
  readonly programs: readonly string[];
  /** The command that installs it, as its makers give it; undefined where there is no one command for every system. */
  readonly install?: string;
  /** No test of ours has driven it: what is written follows its documentation. */
  readonly isUntried?: true;
  /** A folder that is there once it was used, for clients that no shell starts. */
  readonly folder?: (machine: Machine) => string;
  /** It finds the key by itself. */
  readonly isKeyless?: true;
  /** It reads its key under a public name alone: `run` gives it a door in place of a key, and does not start it where the system cannot tell whose program connects. */
  readonly takesDoor?: true;
  /** The lasting changes that point the client at the gateway; undefined if the user must type them. */
  readonly edits?: (target: Target, key: SetupKey, machine: Machine) => readonly FileEdit[];
  /** Notes for the user after the changes; for a client without changes, the whole instructions, in a shell that has the variables `env`. */
  readonly notes: (target: Target, key: SetupKey, env: Machine["env"]) => readonly string[];
  /** A file of the client that may name a proxy, which would get the key: no setting of its own exempts this machine. */
  readonly proxyIn?: string;
  /** How it is started by `run`. Undefined for programs with windows. */
  readonly launch?: (target: Target, run: RunKey, machine: Machine) => ClientStart;
  /** Its own arguments that would win over those of `launch` and lead it, with the gateway's key, to another host: `run` refuses them by name. */
  readonly refused?: RegExp;
  /** An administrator's settings, which win over `launch`: where one leads the client elsewhere, `run` does not start it. */
  readonly managed?: Policy;
}

/** Lines for a shell's start-up file that set these variables, and empty those of `others` that the shell has: they would win. */
export function shellLines(
  set: Readonly<Record<string, string>>,
  others: readonly string[],
  { env, shell }: Pick<Machine, "env"> & Pick<Target, "shell">,
): readonly string[] {
  const emptied = others.filter((name) => env[name] && set[name] === undefined).map((name) => [name, ""] as const);
  return [...Object.entries(set), ...emptied].map(([name, value]) => `  ${setVariable(name, value, shell)}`);
}

/** A client's own notes, and what is true of each client of its kind. */
export function notesOf(client: Client, target: Target, key: SetupKey, env: Machine["env"]): readonly string[] {
  const { title, notes, proxyIn, isUntried } = client;
  return [
    ...notes(target, key, env),
    ...(proxyIn === undefined
      ? []
      : [
          `${proxyIn} may name a proxy, which would get the key. These lines in your shell's start-up file prevent that:`,
          ...shellLines(loopbackExemption(env), [], { env, shell: target.shell }),
        ]),
    ...(isUntried ? [`No test of ours has driven ${title}: what this writes follows its documentation.`] : []),
  ];
}

/** What `setup` says of the model for small work; nothing where that is the model itself. */
export function smallNote({ model, small }: Target): readonly string[] {
  return small === model ? [] : [`Titles and other small work go to ${small}, which costs nothing.`];
}

/** What the account's list tells of the chosen model. */
export function limitsOf({ model, models }: Target): Partial<ListedModel> {
  return models.find(({ id }) => id === model) ?? {};
}

/** Members for a configuration, without those that the account's list leaves out. */
export function definedOnly(members: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}

/** Limits for a client that must have some, where the account's list has none. */
export const usual = { context: 128_000, output: 32_768 };

/** Variables, each without a value. */
export function none(names: readonly string[]): Readonly<Record<string, undefined>> {
  return Object.fromEntries(names.map((name) => [name, undefined]));
}

export function json(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

/** The folder of a client's configuration, where it follows the XDG Base Directory specification. */
export function xdgConfig({ env, homeFolder }: Pick<Machine, "env" | "homeFolder">, client: string): string {
  return join(env["XDG_CONFIG_HOME"] || join(homeFolder, ".config"), client);
}

export type Path = readonly (string | number)[];

/** One value of a configuration file. With `key` the path is a list that gets one entry with that key's value, once. */
export interface SetValue {
  readonly path: Path;
  readonly value: unknown;
  /** `""`: the entry itself is the value (a list of strings). */
  readonly key?: string;
  /** Endings of entries that an earlier setup wrote in its place, such as the path of a folder that has moved. */
  readonly formerly?: readonly string[];
  /** Only where nothing stands there: a file of the user's own keeps its own. */
  readonly unlessThere?: true;
  /** Only where something stands there: it would win over the other values. */
  readonly ifThere?: true;
}

/** A change to one configuration file, as data, so that it can be shown, made and taken back. */
export type FileEdit = {
  readonly file: string;
  /** The key itself stands in it: its mode is 0600. */
  readonly isSecret?: true;
} & (
  | { readonly kind: "json" | "yaml"; readonly set: readonly SetValue[] }
  /** Lines of our own between two marks, at the end of a file of TOML or of variables. */
  | { readonly kind: "block"; readonly lines: readonly string[] }
);

/** A value of a configuration by its dotted path. */
export function put(path: string, value: unknown, more: Partial<SetValue> = {}): SetValue {
  return { path: path.split("."), value, ...more };
}

/** Values in a file of JSON or YAML, by its name. */
export function inFile(file: string, ...set: readonly SetValue[]): FileEdit {
  return { kind: /\.ya?ml$/.test(file) ? "yaml" : "json", file, set };
}

/** Lines of our own in any other file. */
export function linesIn(file: string, lines: readonly string[]): FileEdit {
  return { kind: "block", file, lines };
}

/** The command that installs a package of npm for every folder. */
export function npm(name: string): string {
  return `npm install --global ${name}`;
}

/** A file in which the key stands is for its user alone. */
export function secretWith({ value }: Pick<SetupKey, "value">, edit: FileEdit): FileEdit {
  return JSON.stringify(edit).includes(value) ? { ...edit, isSecret: true } : edit;
}
