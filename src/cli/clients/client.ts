import { join } from "node:path";
import { loopbackExemption } from "../../base/node/loopback.ts";
import { type Shell, setFromCommand, setVariable } from "../terminal/shell.ts";

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
  /** A command line that prints the gateway's key, for configurations whose client runs it in a shell. */
  readonly keyCommand: string;
  /** The same as a program and its arguments. */
  readonly keyWords: readonly string[];
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

/** How the first of a client's programs is started, pointed at the gateway. */
export interface ClientStart {
  /** Arguments before those of the user. */
  readonly args?: readonly string[];
  /** Undefined takes a variable of the user away. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Files of this run that the arguments name. No key stands in them. */
  readonly files?: readonly { readonly file: string; readonly text: string }[];
}

/** The key of one run of one client. It ends with the run. */
export interface RunKey {
  readonly key: string;
  /** The variable that has it in the client's environment: random, so that no file of a project can name it. */
  readonly variable: string;
  /** A shell's command line that prints it there. */
  readonly command: string;
  /** For the files of this run. */
  readonly folder: string;
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
  /** A folder that is there once it was used, for clients that no shell starts. */
  readonly folder?: (machine: Machine) => string;
  /** The lasting changes that point the client at the gateway; undefined if the user must type them. */
  readonly edits?: (target: Target, machine: Machine) => readonly FileEdit[];
  /** Notes for the user after the changes; for a client without changes, the whole instructions, in a shell that has the variables `env`. */
  readonly notes: (target: Target, env: Machine["env"]) => readonly string[];
  /**
   * How it is started; `run.variable` stands in its environment already. Undefined for programs with windows. Throws `invalid_request`
   * where a configuration that no argument overrides would lead it elsewhere.
   */
  readonly launch?: (target: Target, run: RunKey, machine: Machine) => ClientStart;
  /** Its own arguments that would win over those of `launch` and lead it, with the gateway's key, to another host: `run` refuses them by name. */
  readonly refused?: RegExp;
}

/** The variable that clients read the gateway's key from, where their configuration names one. */
export const keyVariable = "MILLRACE_API_KEY";

/** The shell line that sets the variable in which the client looks for the key. */
export function exportKey({ keyWords, shell }: Target, variable = keyVariable): string {
  return setFromCommand(variable, keyWords, shell);
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

/** What keeps requests to the gateway from a proxy that a file of the client names: no setting of its own exempts this machine. */
export function exemptionNotes(file: string, { shell }: Pick<Target, "shell">, env: Machine["env"]): readonly string[] {
  return [
    `${file} may name a proxy, which would get the key. These lines in your shell's start-up file prevent that:`,
    ...shellLines(loopbackExemption(env), [], { env, shell }),
  ];
}

/** What `setup` says of the model for small work; nothing where that is the model itself. */
export function smallNote({ model, small }: Target): readonly string[] {
  return small === model ? [] : [`Titles and other small work go to ${small}, which costs nothing.`];
}

/** Members for a configuration, without those that the account's list does not tell. */
export function told(members: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
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
export type FileEdit =
  | { readonly kind: "json" | "yaml"; readonly file: string; readonly set: readonly SetValue[] }
  /** Lines of our own between two marks, at the end of the file. */
  | { readonly kind: "block"; readonly file: string; readonly lines: readonly string[] };
