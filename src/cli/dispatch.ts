import { CommanderError } from "commander";
import { isMillraceError, toMillraceError } from "../base/errors.ts";
import { fileProblem } from "../base/node/file-problem.ts";
import type { Command } from "./command.ts";
import { readSettings } from "./compose/settings.ts";
import { version } from "./package-files.ts";
import { buildProgram } from "./parser.ts";
import { exitCodeFor, exitCodes } from "./terminal/exit-codes.ts";
import type { Io } from "./terminal/io.ts";
import { openOutput } from "./terminal/output.ts";

/** Runs one command line with these commands and returns its exit code. Only the entry file exits. */
export async function dispatch(argv: readonly string[], io: Io, available: readonly Command[]): Promise<number> {
  const { wanted, rest } = takeColour(argv);
  const colour = colours[wanted];
  if (colour === undefined) {
    const message = `--color does not know ${JSON.stringify(wanted)}.`;
    openOutput(io.stdout, io.stderr, io.env).problem({ message, hint: "Use always, never or auto." });
    return exitCodes.usage;
  }
  const out = openOutput(io.stdout, io.stderr, { ...io.env, ...colour });
  let json = false;
  let code: number = exitCodes.ok;
  const program = buildProgram(available, {
    env: io.env,
    version: version(),
    write: (text) => out.write(text),
    problem: (problem) => out.problem(problem),
    columns: out.isTerminal ? out.columns : 80,
    wholeHelp: asksWholeHelp(rest),
    configured: async (command) => {
      if (!takesSettings(command)) return {};
      const { readServeTable } = await import("./config/read-serve-table.ts");
      return readServeTable(command, readSettings(io).configFile);
    },
    found: async ({ command, input }) => {
      json = (input.options as Readonly<Record<string, unknown>>)["json"] === true;
      const settings = readSettings(io);
      code =
        (await command.run({ ...input, argv: rest }, { io, out, settings, signal: io.signal, json })) ?? exitCodes.ok;
    },
  });
  try {
    if (argv.length === 0 || asksWholeHelp(rest)) {
      program.outputHelp();
      return exitCodes.ok;
    }
    await program.parseAsync([...rest], { from: "user" });
    return code;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.ok : exitCodes.usage;
    if (io.signal.aborted && !isMillraceError(error)) return exitCodes.interrupted;
    const known = fileProblem(error) ?? toMillraceError(error);
    const asksJson = json || argv.includes("--json");
    if (asksJson) out.json({ error: known.toRecord() });
    else out.problem(known);
    if (argv.includes("--debug") || (known.code === "internal" && !asksJson)) out.note(stackOf(error));
    return exitCodeFor(known);
  }
}

/** `help --all`, or `--help --all`. */
function asksWholeHelp([first = "", second]: readonly string[]): boolean {
  return ["help", "--help", "-h"].includes(first) && second === "--all";
}

/** Whether the configuration file may set options of this command. */
function takesSettings({ name, options }: Command): boolean {
  return name === "serve" || Object.values(options).some(({ explainedBy }) => explainedBy === "serve");
}

const colours: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  always: { FORCE_COLOR: "1", NO_COLOR: "" },
  never: { NO_COLOR: "1", FORCE_COLOR: "" },
  auto: {},
};

/** `--color` counts anywhere on the command line, but for the arguments of the client that `run` starts. */
function takeColour(argv: readonly string[]): { readonly wanted: string; readonly rest: readonly string[] } {
  const rest: string[] = [];
  let wanted = "auto";
  let isOver = false;
  for (let at = 0; at < argv.length; at++) {
    const word = argv[at] ?? "";
    isOver ||= word === "run" || word === "--";
    const [name, value] = isOver ? [] : word.split("=");
    if (name === "--no-color") wanted = "never";
    else if (name === "--color") {
      const next = argv[at + 1] ?? "";
      const takesNext = value === undefined && next in colours;
      wanted = value ?? (takesNext ? next : "always");
      if (takesNext) at++;
    } else rest.push(at === 0 && word === "-V" ? "--version" : word);
  }
  return { wanted, rest };
}

function stackOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause === undefined ? "" : `\ncaused by: ${stackOf(error.cause)}`;
  return `${error.stack ?? error.message}${cause}`;
}
