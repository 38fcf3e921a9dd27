import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Row } from "./row.ts";

/** The product as one of the ways to install it lays it down, and the stand-in's agent: what every row uses. */
export interface Product {
  /** What runs it: a script for Node, or a program. */
  readonly bin: string;
  readonly isAlone: boolean;
  /** The folder with the files of the next release, where it is a program. */
  readonly next?: string;
  /** The command line of the agent, each word in quotes. */
  readonly agent: string;
}

/** What a command of a row came to. */
export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A command line of the product in the row's environment, with words for `env` that change it. */
type Millrace = (words: string, env?: string) => string;

/** The stand-in IDE's own home in place of the row's, and no agent. */
const besideIde = `-u MILLRACE_ACP_COMMAND HOME="$ide" MILLRACE_HOME="$ide/own" MILLRACE_IDE_ONLY_HOME="$ide"`;

/**
 * The steps of each row, in this order: a language server that is given and one that is searched for, the agent in a gateway that stays, what beginners
 * type next, a gateway that dies, and the end.
 */
const steps = {
  demo: (millrace: Millrace) => millrace("demo --once"),
  found: (millrace: Millrace) => `
    mkfifo "$ide/ready"; ${millrace('simulate --home "$ide" --json', besideIde)} >"$ide/ready" &
    simulator=$!; read -r line <"$ide/ready"
    ${millrace("chat Hello", besideIde)}; code=$?
    ${millrace("stop", besideIde)} >/dev/null
    kill "$simulator"; wait "$simulator"; (exit "$code")`,
  serve: (millrace: Millrace) => millrace("serve --background"),
  chat: (millrace: Millrace) => millrace("chat Hello"),
  status: (millrace: Millrace) => millrace("status"),
  models: (millrace: Millrace) => millrace("models"),
  usage: (millrace: Millrace) => millrace("usage --since 7d"),
  doctor: (millrace: Millrace) => millrace("doctor"),
  run: (millrace: Millrace) => millrace("run claude-code -- --say", 'PATH="$programs:/usr/bin:/bin"'),
  setup: (millrace: Millrace) => millrace("setup opencode --yes"),
  undo: (millrace: Millrace) => millrace("setup opencode --undo --yes"),
  kill: (millrace: Millrace) => `
    kill -9 "$(${millrace("status --json")} | sed -n 's/.*"pid": *\\([0-9]*\\).*/\\1/p')"
    ${millrace("chat Hello")}`,
  update: (millrace: Millrace) => `
    mkfifo "$ide/port"; "$node" "$suite/serve-folder.mjs" "$next" >"$ide/port" &
    server=$!; read -r port <"$ide/port"
    ${millrace('update --yes --from "http://127.0.0.1:$port"')} && ${millrace("--version")} && ${millrace("chat Hello")} &&
      ${millrace("update --previous --yes")} && ${millrace("--version")}
    code=$?; kill "$server"; (exit "$code")`,
  stop: (millrace: Millrace) => millrace("stop --agents"),
  uninstall: (millrace: Millrace) => millrace("uninstall --yes"),
};
export type Step = keyof typeof steps;

/** Those of a row with its own ones, before the last, by the names of their files. npm's own update is the rehearsal's. */
function stepsOf(
  { more = [] }: Row,
  { next }: Product,
): readonly (readonly [name: string, lines: (millrace: Millrace) => string])[] {
  const all = Object.entries(steps).filter(([name]) => name !== "update" || next !== undefined);
  const own = more.map(([command], n) => [`more-${n}`, (millrace: Millrace) => millrace(command)] as const);
  return [...all.slice(0, -1), ...own, ...all.slice(-1)];
}

const runtimes = join(import.meta.dirname, "../../scripts/runtimes");

/** The most that a row may take; ms. */
const limitMs = 420_000;

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
  for (const name of ["home", "t", "away", "out", "ide", "programs"]) mkdirSync(folder(name));
  chmodSync(folder("ide"), 0o777); // also for other users
  writeFileSync(folder("programs/claude"), `#!/bin/sh\necho "$ANTHROPIC_BASE_URL $*"\n`, { mode: 0o755 });
  const bin = product.isAlone ? folder("away/bin/millrace") : product.bin;
  if (product.isAlone) {
    mkdirSync(folder("away/bin"));
    copyFileSync(product.bin, bin); // its own, which an update replaces
  }
  const script = folder("row.sh");
  writeFileSync(script, scriptOf(row, { ...product, bin }, place));
  const [program = "", ...args] = hasNamespaces ? ["unshare", ...namespace, "sh", script] : ["sh", script];
  const child = spawn(program, args, { cwd: folder("away"), stdio: ["ignore", "pipe", "pipe"] });
  let log = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => (log += chunk.toString()));
  const timer = setTimeout(() => child.kill("SIGKILL"), limitMs);
  await once(child, "close");
  clearTimeout(timer);
  if (product.isAlone) rmSync(folder("away/bin"), { recursive: true, force: true });
  const ran = new Map<string, Ran>();
  for (const [name] of stepsOf(row, product)) {
    const read = (kind: string) => {
      const file = folder(`out/${name}.${kind}`);
      return existsSync(file) ? readFileSync(file, "utf8") : "";
    };
    const code = read("code");
    ran.set(name, { code: code === "" ? -1 : Number(code), stdout: read("stdout"), stderr: read("stderr") });
  }
  const left = ["t", "home"].flatMap((each) => readdirSync(folder(each), { recursive: true }).map(String));
  return { ran, left, log };
}

/** A script for sh: its own environment is this machine's, and each command gets that of the row and nothing else. */
function scriptOf(row: Row, product: Product, place: string): string {
  const { bin, isAlone, agent, next = "" } = product;
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
  const node = isAlone ? [] : [row.runtime === undefined ? process.execPath : runtime];
  const program = [...node, bin].map(quoted).join(" ");
  const millrace: Millrace = (words, changed = "") =>
    `${row.under ?? ""} /usr/bin/env -i ${variables.join(" ")} /usr/bin/env ${changed} ${program} ${words} ${row.redirect ?? ""}`;
  const runs = stepsOf(row, product).map(
    ([name, lines]) =>
      `{ ${lines(millrace)}\n} >"$out/${name}.stdout" 2>"$out/${name}.stderr"; echo $? >"$out/${name}.code"`,
  );
  return [
    ...["home", "temporary=t", "away", "out", "ide", "programs"].map((each) => {
      const [name = "", of = name] = each.split("=");
      return `${name}=${quoted(join(place, of))}`;
    }),
    `node=${quoted(process.execPath)}`,
    `suite=${quoted(import.meta.dirname)}`,
    `next=${quoted(next)}`,
    hasNamespaces ? "ip link set lo up" : "",
    `of_another() { /usr/bin/env -i HOME="$1" ${program} "$2" "$3"; }`,
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
