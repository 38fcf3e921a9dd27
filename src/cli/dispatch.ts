import { CommanderError } from "commander";
import { isMillraceError, toMillraceError } from "../base/errors.ts";
import { fileProblem } from "../base/node/file-problem.ts";
import type { Command } from "./command.ts";
import { readSettings } from "./compose/settings.ts";
import { version } from "./package-files.ts";
import { buildProgram } from "./parser.ts";
import { exitCodeFor, exitCodes } from "./terminal/exit-codes.ts";
import { type Io, openOutput } from "./terminal/output.ts";

/** Runs one command line with these commands and returns its exit code. Only the entry file exits. */
export async function dispatch(argv: readonly string[], io: Io, available: readonly Command[]): Promise<number> {
  const out = openOutput(io.stdout, io.stderr, io.env);
  let json = false;
  let code: number = exitCodes.ok;
  const program = buildProgram(available, {
    env: io.env,
    version: version(),
    write: (text) => out.write(text),
    problem: (problem) => out.problem(problem),
    columns: out.isTerminal ? out.columns : 80,
    wholeHelp: asksWholeHelp(argv),
    configured: async (command) => {
      if (!takesSettings(command)) return {};
      const { readServeTable } = await import("./config/read-config.ts");
      return readServeTable(command, readSettings(io).configFile);
    },
    found: async ({ command, input }) => {
      json = (input.options as Readonly<Record<string, unknown>>)["json"] === true;
      const settings = readSettings(io);
      code = (await command.run({ ...input, argv }, { io, out, settings, signal: io.signal, json })) ?? exitCodes.ok;
    },
  });
  try {
    if (argv.length === 0 || asksWholeHelp(argv)) {
      program.outputHelp();
      return exitCodes.ok;
    }
    await program.parseAsync([...argv], { from: "user" });
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
  return name === "serve" || Object.values(options).some(({ isOfServe }) => isOfServe);
}

function stackOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause === undefined ? "" : `\ncaused by: ${stackOf(error.cause)}`;
  return `${error.stack ?? error.message}${cause}`;
}
