import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Row } from "./row.ts";

/** The product as it is packed, and the stand-in's agent: what every row uses. */
export interface Product {
  readonly bin: string;
  /** The command line of the agent, each word in quotes. */
  readonly agent: string;
}

/** What a command of a row came to. */
export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** The commands of each row, in this order: the language server, the agent in a gateway that stays, what beginners type next. */
export const commands = {
  demo: ["demo", "--once"],
  chat: ["chat", "Hello"],
  status: ["status"],
  models: ["models"],
  usage: ["usage", "--since", "7d"],
  doctor: ["doctor"],
  stop: ["stop", "--agents"],
} as const;
export type CommandName = keyof typeof commands;

/** Those of a row with its own ones, by the names of their files. */
function commandsOf({ more = [] }: Row): readonly { readonly name: string; readonly words: readonly string[] }[] {
  const all = Object.entries<readonly string[]>(commands).map(([name, words]) => ({ name, words }));
  return [...all, ...more.map(([command], n) => ({ name: `more-${n}`, words: command.split(" ") }))];
}

const runtimes = join(import.meta.dirname, "../../scripts/runtimes");

/** The most that a row may take; ms. */
const limitMs = 240_000;

const quoted = (word: string) => `'${word.replaceAll("'", `'\\''`)}'`;
/** A network and processes of its own: nothing can be reached but this machine, no port is taken, and nothing outlives it. */
const apart = [
  "--mount",
  "--propagation",
  "private",
  "--net",
  "--uts",
  "--pid",
  "--fork",
  "--kill-child",
  "--mount-proc",
];
const isRoot = process.getuid?.() === 0;
const namespace = [...(isRoot ? [] : ["--user", "--map-root-user"]), ...apart];

/** Why this machine cannot make the row; undefined if it can. */
export function whyNot({ needs }: Row): string | undefined {
  if (needs !== undefined && !hasNamespaces) return "this machine allows no namespaces";
  if (needs === "users" && !canBeOthers) return "only root can become another user";
  return undefined;
}
const hasNamespaces = spawnSync("unshare", [...namespace, "ip", "link", "set", "lo", "up"]).status === 0;
const canBeOthers =
  isRoot &&
  spawnSync("setpriv", ["--reuid=54321", "--regid=54321", "--clear-groups", process.execPath, "-v"]).status === 0;

/** Runs every command in the environment of the row, and answers what each came to, and what was left in the folder for temporary files. */
export async function runRow(
  row: Row,
  product: Product,
): Promise<{ readonly ran: ReadonlyMap<string, Ran>; readonly left: readonly string[]; readonly log: string }> {
  const place = mkdtempSync(join(tmpdir(), "row-"));
  chmodSync(place, 0o755);
  const folder = (name: string) => join(place, name);
  for (const name of ["home", "t", "away", "out"]) mkdirSync(folder(name));
  const script = folder("row.sh");
  writeFileSync(script, scriptOf(row, product, place));
  const [program = "", ...args] = hasNamespaces ? ["unshare", ...namespace, "sh", script] : ["sh", script];
  const child = spawn(program, args, { cwd: folder("away"), stdio: ["ignore", "pipe", "pipe"] });
  let log = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => (log += chunk.toString()));
  const timer = setTimeout(() => child.kill("SIGKILL"), limitMs);
  await once(child, "close");
  clearTimeout(timer);
  const ran = new Map<string, Ran>();
  for (const { name } of commandsOf(row)) {
    const read = (kind: string) => {
      const file = folder(`out/${name}.${kind}`);
      return existsSync(file) ? readFileSync(file, "utf8") : "";
    };
    const code = read("code");
    ran.set(name, { code: code === "" ? -1 : Number(code), stdout: read("stdout"), stderr: read("stderr") });
  }
  return { ran, left: readdirSync(folder("t"), { recursive: true }).map(String), log };
}

/** A script for sh: its own environment is this machine's, and each command gets that of the row and nothing else. */
function scriptOf(row: Row, { bin, agent }: Product, place: string): string {
  const folders: Readonly<Record<string, string>> = { HOME: "home", TMPDIR: "t", AWAY: "away" };
  const placed = (value: string) =>
    value.replaceAll(/\$(HOME|TMPDIR|AWAY)\b/g, (_, name: string) => join(place, folders[name] ?? ""));
  const env: Readonly<Record<string, string | undefined>> = {
    HOME: "$HOME",
    TMPDIR: "$TMPDIR",
    PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    LANG: "C.UTF-8",
    TERM: "xterm-256color",
    USER: "ann",
    SHELL: "/bin/sh",
    MILLRACE_ACCEPT: "1",
    MILLRACE_ACP_COMMAND: agent,
    ...row.env,
  };
  const variables = Object.entries(env).flatMap(([name, value]) =>
    value === undefined ? [] : [quoted(`${name}=${placed(value)}`)],
  );
  const runtime = row.runtime?.startsWith("$") === true ? placed(row.runtime) : join(runtimes, row.runtime ?? "");
  const node = row.runtime === undefined ? process.execPath : runtime;
  const runs = commandsOf(row).map(({ name, words }) => {
    const command = `${row.under ?? ""} /usr/bin/env -i ${variables.join(" ")} ${quoted(node)} ${quoted(bin)} ${words.map(quoted).join(" ")}`;
    return `{ ${command} ${row.redirect ?? ""}; } >"$out/${name}.stdout" 2>"$out/${name}.stderr"; echo $? >"$out/${name}.code"`;
  });
  return [
    ...["home", "temporary=t", "away", "out"].map((each) => {
      const [name = "", of = name] = each.split("=");
      return `${name}=${quoted(join(place, of))}`;
    }),
    `node=${quoted(process.execPath)}`,
    `suite=${quoted(import.meta.dirname)}`,
    hasNamespaces ? "ip link set lo up" : "",
    `of_another() { ${quoted("/usr/bin/env")} -i HOME="$1" ${quoted(process.execPath)} ${quoted(bin)} "$2" "$3"; }`,
    "set -e",
    row.before ?? "",
    "set +e",
    ...runs,
    "",
  ].join("\n");
}

/** Folders that other users may enter too. */
export function openToAll(folder: string): void {
  for (let each = folder; each !== dirname(tmpdir()) && each !== dirname(each); each = dirname(each))
    if (each.startsWith(tmpdir())) chmodSync(each, 0o755);
}
