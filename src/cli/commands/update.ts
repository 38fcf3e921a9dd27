import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, existsSync, linkSync, readdirSync, readFileSync, realpathSync } from "node:fs";
import { dirname, extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import { bestEffort } from "../../base/async.ts";
import { MillraceError } from "../../base/errors.ts";
import { writeJson } from "../../base/json.ts";
import { childEnvironment } from "../../base/node/child-environment.ts";
import { moveFileSync, remove, removeIfThere, removeSync } from "../../base/node/move-file.ts";
import { replaceFileSync } from "../../base/node/replace-file.ts";
import { startable } from "../../base/node/startable.ts";
import { type CommandContext, defineCommand } from "../command.ts";
import { broken, fetchFile, fetchSum, sumOf } from "../fetch-release.ts";
import { checkStartFiles, startInBackground } from "../gateway-process/background.ts";
import type { GatewayRecord } from "../gateway-process/gateway-file.ts";
import { holderOf, stopMs } from "../gateway-process/home.ts";
import { flag, text } from "../options.ts";
import { outlines } from "../outlines.ts";
import { version } from "../package-files.ts";
import { agrees } from "../terminal/ask-yes.ts";
import { exitCodes, nothingHere } from "../terminal/exit-codes.ts";
import { actOnService } from "./service.ts";
import { onSamePort, stopGateway } from "./stop.ts";

/** How this program came onto the machine. `lines`: what a person types where another program keeps it up to date; `removal`: to remove it. */
export type Installation =
  | { readonly kind: "file"; readonly program: string }
  | { readonly kind: "npm"; readonly prefix: string }
  | { readonly kind: "clone"; readonly folder: string }
  | { readonly kind: "other"; readonly owner: string; readonly lines: readonly string[]; readonly removal: string };

const owners: readonly (readonly [place: RegExp, owner: string, line: string, removal: string])[] = [
  [/\/Cellar\/millrace\//, "Homebrew", "brew upgrade millrace", "brew uninstall millrace"],
  [/\/scoop\/apps\/millrace\//i, "Scoop", "scoop update millrace", "scoop uninstall millrace"],
  [/\/WinGet\/Packages\//i, "winget", "winget upgrade Millrace.Millrace", "winget uninstall Millrace.Millrace"],
  [/\/\.bun\/install\//, "Bun", "bun add --global millrace@latest", "bun remove --global millrace"],
  [/\/pnpm\/.*\/node_modules\//i, "pnpm", "pnpm add --global millrace@latest", "pnpm remove --global millrace"],
  [/\/\.yarn\/unplugged\//, "Yarn", "yarn up millrace", "yarn remove millrace"],
  [/\/yarn\/.*\/node_modules\//i, "Yarn", "yarn global upgrade millrace", "yarn global remove millrace"],
];

/** `script`: the file that Node runs, without links; that of Node itself in a program of one file. */
export function installationOf(script: string, node: string, exists: (file: string) => boolean): Installation {
  const path = script.replaceAll("\\", "/");
  const other = (owner: string, lines: readonly string[], removal: string): Installation => ({
    kind: "other",
    owner,
    lines,
    removal,
  });
  const [, owner = "", line, removal = ""] = owners.find(([place]) => place.test(path)) ?? [];
  if (line !== undefined) return other(owner, [line, "millrace restart"], `\`${removal}\``);
  const [npx] = /^.*\/_npx\/[^/]+/.exec(path) ?? [];
  if (npx !== undefined) return other("npx", ["npx -y millrace@latest restart"], `delete ${npx}`);
  if (script === node) return { kind: "file", program: script };
  const [, folder] = /^(.*?)\/node_modules\//.exec(path) ?? [];
  if (folder !== undefined && exists(join(folder, "package.json"))) {
    const lines = ["npm install millrace@latest", "npx millrace restart"];
    return other(`the project in ${folder}`, lines, `\`npm uninstall millrace\` in ${folder}`);
  }
  if (folder !== undefined) return { kind: "npm", prefix: folder.replace(/\/lib$/, "") };
  const root = dirname(dirname(dirname(script)));
  if (exists(join(root, ".git"))) return { kind: "clone", folder: root };
  return other("what installed it", ["millrace restart"], "remove it with what installed it");
}

/** What is left to do after `uninstall`, which cannot remove the program that runs. */
export function removalOf(installation: Installation): string {
  if (installation.kind === "npm") return `\`npm rm --global --prefix "${installation.prefix}" millrace\``;
  if (installation.kind === "other") return installation.removal;
  return `delete ${installation.kind === "file" ? installation.program : installation.folder}`;
}

export function installationHere(): Installation {
  return installationOf(realpathSync(process.argv[1] ?? ""), process.execPath, existsSync);
}

/** The files that stay when this program is removed as it was installed: of updates, and the link to the man page that npm forgets. */
export function filesOutside(): readonly string[] {
  const here = installationHere();
  const files =
    here.kind === "file"
      ? (["next", "previous"] as const).map((word) => besideProgram(here.program, word))
      : here.kind === "npm"
        ? [join(here.prefix, "share/man/man1/millrace.1")]
        : [];
  return files.filter((file) => existsSync(file));
}

/** A program that can take the place of this one. */
interface Change {
  /** What it is, for the question. */
  readonly what: string;
  /** Brings it here, whole and checked, and answers its version. Nothing is replaced yet. */
  bring(): Promise<string>;
  place(): Promise<void>;
  /** Puts back what `place` replaced. The context is one that nobody interrupts. */
  back(context: CommandContext): Promise<void>;
}

export const updateCommand = defineCommand({
  ...outlines.update,
  description:
    "Replaces Millrace by the newest release and restarts the gateway; its turns continue. It asks first. A program in one file comes from the address that it was installed from: its checksum must be right, and it must start, before it takes the place. Installed by npm, or in a clone, it uses npm or git. Another package manager updates Millrace itself: then this prints its command. Nothing else looks for updates.",
  options: {
    from: text("where releases are: the folder of their files; npm's registry; for a clone, a repository", "<url>"),
    previous: flag("go back to the program before the last update"),
    yes: flag("do it without asking", { short: "y" }),
  },
  examples: [
    ["millrace update", "asks, then replaces the program"],
    ["millrace update --previous", "goes back"],
  ],
  async run({ options }, context) {
    const { out } = context;
    const installation = installationHere();
    if (installation.kind === "other") {
      out.line(`Millrace is updated by ${installation.owner}. Type:`);
      for (const line of installation.lines) out.line(`  ${line}`);
      return exitCodes.negative;
    }
    const find = installation.kind === "file" ? changeOfFile(installation.program) : changeByTool(installation);
    const change = await find(options, context);
    const own = version();
    if (change === undefined) {
      out.line(`This is the newest: ${own}.`);
      return exitCodes.ok;
    }
    out.line(`This is ${own}. There is ${change.what}.`);
    const question = "Use it? The gateway restarts, and its turns continue.";
    if (!options.yes && !(await agrees(question, "Nothing was changed", context))) return exitCodes.ok;
    const next = await change.bring();
    return replaceWith(change, { own, next }, context);
  },
});

/** Stops the gateway, replaces the program, and starts the gateway again. Where that fails or is interrupted, the program before is put back. */
async function replaceWith(
  change: Change,
  { own, next }: { readonly own: string; readonly next: string },
  context: CommandContext,
): Promise<number> {
  const { out, settings } = context;
  const running = holderOf(settings.gatewayFile);
  if (running !== undefined) checkStartFiles(settings.folder);
  await stopGateway(stopMs, context);
  try {
    await change.place();
    const code = await startAgain(running, context);
    if (code !== exitCodes.ok) throw new Error(`its gateway ended with ${code}`);
  } catch (error) {
    out.note(`${next} cannot take the place of ${own}, which is put back.`);
    const undoing = { ...context, signal: new AbortController().signal };
    await change.back(undoing);
    await startAgain(running, undoing);
    throw error;
  }
  out.line(`Now this is ${next}. \`millrace update --previous\` goes back to ${own}.`);
  return exitCodes.ok;
}

/** Starts the gateway that was stopped, as it was started before, with the program that is in place now. */
async function startAgain(running: GatewayRecord | undefined, context: CommandContext): Promise<number> {
  if (running === undefined) return exitCodes.ok;
  if (running.startedBy === "service") return actOnService("restart", context);
  return startInBackground(onSamePort(running.argv ?? ["serve"], running.url), context);
}

const recordSchema = z.object({
  from: z.string().optional(),
  previous: z.string().optional(),
  next: z.string().optional(),
});

/**
 * Where the last release came from, which one it replaced, and while it takes its place, which one that is: an update that was killed is not
 * done. The install scripts write it too.
 */
function releaseRecord(folder: string) {
  const file = join(folder, "release.json");
  let record: z.output<typeof recordSchema> = {};
  try {
    record = recordSchema.parse(JSON.parse(readFileSync(file, "utf8")));
  } catch {
    // none yet
  }
  return {
    ...record,
    write: (next: z.output<typeof recordSchema>) => replaceFileSync(file, `${writeJson({ ...record, ...next })}\n`),
  };
}

interface Wish {
  readonly from: string | undefined;
  readonly previous: boolean;
}

type Find = (wish: Wish, context: CommandContext) => Promise<Change | undefined>;

/** The file of an update beside the program: `next` while it is brought, `previous` once it is replaced. */
function besideProgram(program: string, word: "next" | "previous"): string {
  return join(dirname(program), `millrace-${word}${extname(program)}`);
}

function changeOfFile(program: string): Find {
  const [next, previous] = [besideProgram(program, "next"), besideProgram(program, "previous")];
  return async (wish, context) => {
    const { io, out, settings, signal } = context;
    const record = releaseRecord(settings.folder);
    const bring = async (get: () => Promise<void>) => {
      try {
        await get();
        await forgetEarlier();
        return (await output([next, "--version"], context)).trim();
      } catch (error) {
        removeIfThere(next);
        throw error;
      }
    };
    let isAside = false;
    const rest = {
      async place() {
        removeSync(previous);
        if (io.platform === "win32")
          moveFileSync(program, previous); // it runs, so nothing can take its place
        else linkSync(program, previous); // so that there is a whole program at any moment
        isAside = true;
        moveFileSync(next, program);
      },
      async back() {
        if (isAside) moveFileSync(previous, program);
        removeIfThere(next);
      },
    };
    if (wish.previous) {
      if (!existsSync(previous)) throw nothingHere("There is no program from before an update here.", "");
      const get = async () => copyFileSync(previous, next);
      return { what: `the program before it, ${previous}`, bring: () => bring(get), ...rest };
    }
    const from = wish.from ?? record.from;
    if (from === undefined)
      throw new MillraceError("invalid_request", "This program was not installed by the install script.", {
        hint: "Say where releases are: `millrace update --from <url>`.",
      });
    const address = `${from.replace(/\/+$/, "")}/millrace-${io.platform}-${process.arch}${extname(program)}`;
    const sum = await fetchSum(`${address}.sha256`, context);
    if (sum === (await sumOf(program, signal))) return undefined;
    const get = async () => {
      out.note(`Fetching ${address} …`);
      await fetchFile(address, next, context);
      if (sum !== (await sumOf(next, signal))) throw broken(address, "it is not the file of its checksum");
      record.write({ from });
    };
    return { what: `another build at ${from}`, bring: () => bring(get), ...rest };
  };
}

/** Removes the files that earlier one-file programs unpacked. Those of the running program stay. */
async function forgetEarlier(): Promise<void> {
  const here = fileURLToPath(import.meta.url);
  const [, programs, own] = /^(.*[\\/]millrace[\\/]program)[\\/]([^\\/]+)[\\/]/.exec(here) ?? [];
  if (programs === undefined) return;
  for (const name of readdirSync(programs))
    if (name !== own) await bestEffort(remove(join(programs, name), { recursive: true }));
}

/** By npm, or by git and npm in a clone. These replace files that the gateway loads, so it is stopped meanwhile. */
function changeByTool(installation: Extract<Installation, { readonly kind: "npm" | "clone" }>): Find {
  return async (wish, context) => {
    const record = releaseRecord(context.settings.folder);
    const cwd = installation.kind === "clone" ? installation.folder : undefined;
    const run = (words: readonly string[]) => output(words, context, cwd);
    const by = installation.kind === "npm" ? npm(installation.prefix, wish.from) : git(installation.folder, wish.from);
    const own = (await by.own(run)).trim();
    if (wish.previous && record.previous === undefined) throw nothingHere("There was no update to go back from.", "");
    const next = wish.previous ? (record.previous ?? "") : (await by.newest(run)).trim();
    const isHalf = record.next !== undefined;
    if (next === own && !isHalf) return undefined;
    const previous = isHalf ? record.previous : own;
    const use = async (to: string, isBack: boolean, where: CommandContext) => {
      for (const words of by.steps(to, isBack)) await output(words, where, cwd);
    };
    return {
      what: next,
      bring: async () => next,
      async place() {
        record.write({ previous, next });
        await use(next, wish.previous, context);
        record.write({ previous, next: undefined });
      },
      async back(where) {
        await use(own, true, where);
        record.write({ next: undefined });
      },
    };
  };
}

type Run = (words: readonly string[]) => Promise<string>;

function npm(prefix: string, registry: string | undefined) {
  const from = registry === undefined ? [] : ["--registry", registry];
  return {
    own: async () => version().replace(/\+.*/, ""),
    newest: (run: Run) => run(["npm", "view", "millrace@latest", "version", ...from]),
    steps: (to: string) => [
      ["npm", "install", "--global", "--prefix", prefix, "--no-audit", "--no-fund", ...from, `millrace@${to}`],
    ],
  };
}

function git(folder: string, repository: string | undefined) {
  const build = existsSync(join(folder, "dist")) ? [["npm", "run", "build"]] : [];
  return {
    own: (run: Run) => run(["git", "rev-parse", "HEAD"]),
    async newest(run: Run) {
      if (repository === undefined && (await run(["git", "remote"])).trim() === "")
        throw new MillraceError("invalid_request", `The checkout in ${folder} has no remote repository.`, {
          hint: "Say where its commits are: `millrace update --from <url>`, or `git remote add origin <url>` there.",
        });
      await run(["git", "fetch", "--quiet", ...(repository === undefined ? [] : [repository])]);
      const isAhead = (await run(["git", "rev-list", "--count", "HEAD..FETCH_HEAD"])).trim() === "0";
      return run(["git", "rev-parse", isAhead ? "HEAD" : "FETCH_HEAD"]);
    },
    steps: (to: string, isBack: boolean) => [
      ["git", ...(isBack ? ["reset", "--keep", "--quiet"] : ["merge", "--ff-only", "--quiet"]), to],
      ["npm", "ci"],
      ...build,
    ],
  };
}

/** What a program writes to stdout. Throws `upstream_failed` where it fails; its own words are on stderr then. */
async function output(words: readonly string[], { io, signal }: CommandContext, cwd?: string): Promise<string> {
  const env = childEnvironment("own", io.env, io.platform);
  const { command, args, ...how } = startable(words[0] ?? "", words.slice(1), { env, platform: io.platform });
  const failed = (why: string, cause?: unknown) =>
    new MillraceError("upstream_failed", `\`${words.join(" ")}\` failed: ${why}.`, { cause, hint: "" });
  try {
    const child = spawn(command, args, { stdio: ["ignore", "pipe", "inherit"], env, cwd, signal, ...how });
    let written = "";
    child.stdout.setEncoding("utf8").on("data", (part: string) => (written += part));
    const [code] = (await once(child, "close")) as [number | null];
    if (code === 0) return written;
    throw failed(`it ended with ${code ?? "a signal"}`);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof MillraceError) throw error;
    throw failed((error as NodeJS.ErrnoException).code ?? String(error), error); // it cannot be started
  }
}
