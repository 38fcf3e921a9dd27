import { isAbsolute, resolve } from "node:path";
import { Argument, CommanderError, Help, Option, Command as Program } from "commander";
import { isMillraceError, MillraceError } from "../base/errors.ts";
import { withFileReason } from "../base/node/file-problem.ts";
import type { Command, CommandContext, CommandInput } from "./command.ts";
import { kebab, namesOfServe, type OptionSpec } from "./options.ts";
import { commandIn, everyday } from "./outlines.ts";
import { version } from "./package-files.ts";
import { readSettings } from "./settings.ts";
import { wrapLine, wrapProse } from "./terminal/display-width.ts";
import { exitCodeFor, exitCodeMeanings, exitCodes } from "./terminal/exit-codes.ts";
import { type Io, openOutput } from "./terminal/output.ts";
import { nearestWord } from "./terminal/spell.ts";

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
    wholeHelp: asksWholeHelp(argv) || commandIn(argv) !== "", // so that a suggestion can be a command that the short help leaves out
    configured: async (command) => {
      const settings = readSettings(io);
      const { optionsOfRunning } = await import("./serve/running-options.ts");
      const running = optionsOfRunning(command, settings);
      if (!takesSettings(command)) return running;
      const { readServeTable } = await import("./config/read-config.ts");
      return { ...readServeTable(command, settings.configFile), ...running };
    },
    found: async (command, input) => {
      json = (input.options as Readonly<Record<string, unknown>>)["json"] === true;
      const settings = readSettings(io);
      code =
        (await command.run({ ...input, argv }, { io, out, settings, signal: io.signal, json, typed: input.typed })) ??
        exitCodes.ok;
    },
  });
  const run = async () => {
    if (argv.length === 0 || asksWholeHelp(argv)) {
      program.outputHelp();
      return exitCodes.ok;
    }
    refuseRelativeHome(io.env["MILLRACE_HOME"] ?? "");
    await program.parseAsync(wordsFor(argv, available), { from: "user" });
    return code;
  };
  const asksJson = () => json || argv.includes("--json");
  return reported(run, io, { asksJson, debug: argv.includes("--debug") });
}

/** Runs a command, and tells its error to the person or the script that typed it. Answers the exit code. */
export async function reported(
  run: () => Promise<number>,
  io: Io,
  { asksJson, debug }: { readonly asksJson: () => boolean; readonly debug: boolean } = {
    asksJson: () => false,
    debug: false,
  },
): Promise<number> {
  const out = openOutput(io.stdout, io.stderr, io.env);
  try {
    return await run();
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.ok : exitCodes.usage;
    if (io.signal.aborted && !isMillraceError(error)) return exitCodes.interrupted;
    const known = withFileReason(error, `A file in ${readSettings(io).folder}`);
    if (asksJson()) out.json({ error: known.toRecord() });
    else out.problem(known);
    if (debug || (known.code === "internal" && !asksJson())) out.note(stackOf(error));
    return exitCodeFor(known);
  }
}

/** `help A B` as `A B --help`, so that it knows subcommands. Help for no command is the error of that command: the parser prints all help. */
function wordsFor(argv: readonly string[], available: readonly Command[]): string[] {
  const name = commandIn(argv);
  const [first, ...rest] = argv;
  const asksHelp = first === "help" || argv.some((word) => word === "--help" || word === "-h");
  const isKnown = name === "" || name === "help" || available.some((command) => command.name === name);
  if (asksHelp && !isKnown) return [name];
  return first === "help" && name !== "" && name !== "help" ? [...rest, "--help"] : [...argv];
}

/** `help --all`, or `--help --all`. */
function asksWholeHelp([first = "", second]: readonly string[]): boolean {
  return ["help", "--help", "-h"].includes(first) && second === "--all";
}

/** In each folder it would be another home, and a gateway in the background has a folder of its own. */
function refuseRelativeHome(home: string): void {
  if (home === "" || isAbsolute(home)) return;
  throw new MillraceError("invalid_request", `MILLRACE_HOME is ${JSON.stringify(home)}, which is not a whole path.`, {
    hint: `Set it to a whole path, such as ${resolve(home)}.`,
  });
}

/** Whether the configuration file may set options of this command. */
function takesSettings({ name, options }: Command): boolean {
  return name === "serve" || Object.values(options).some(({ isOfServe, isSetting }) => isOfServe || isSetting);
}

function stackOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause === undefined ? "" : `\ncaused by: ${stackOf(error.cause)}`;
  return `${error.stack ?? error.message}${cause}`;
}

type Options = Readonly<Record<string, OptionSpec<unknown>>>;

interface ParserPort {
  readonly env: CommandContext["io"]["env"];
  readonly version: string;
  readonly write: (text: string) => void;
  /** Called with the problem of the command line, and the words to type instead. */
  readonly problem: (problem: { readonly message: string; readonly hint: string }) => void;
  /** Columns of the terminal that help is written to; 80 by default. */
  readonly columns?: number;
  /** The help lists every command and the exit codes; otherwise the commands of everyday use. */
  readonly wholeHelp?: boolean;
  /** The values of the configuration file for this command's options: raw, by option name. */
  readonly configured?: (command: Command) => Promise<Readonly<Record<string, unknown>>>;
  /** Called as soon as a command is chosen, before its options are parsed. */
  readonly found: (command: Command, input: Omit<CommandInput<Options>, "argv">) => Promise<void>;
}

/** Builds the command line's grammar from the commands' own data. */
export function buildProgram(commands: readonly Command[], port: ParserPort): Program {
  const program = new Program("millrace")
    .description(
      "Serves the models of your AI IDE on 127.0.0.1, through the APIs of OpenAI, Anthropic, Google and Ollama.",
    )
    .version(port.version, "-v, --version", "print the version")
    .helpOption("-h, --help", "print this help, or that of a command")
    .option("--debug", "print the stack of an error")
    .commandsGroup("Look:") // that of `help`; each command names its own
    .helpCommand("help [command]", "print the help of a command; `help --all` lists every command")
    .showSuggestionAfterError(true)
    .enablePositionalOptions()
    .exitOverride()
    .configureOutput(
      outputTo(
        port,
        "`millrace --help` lists the commands and their options.",
        commands.map(({ name }) => name),
      ),
    )
    .configureHelp(helpIn(widthOf(port)));
  const codes = exitCodeMeanings.map(([code, meaning]) => `  ${String(code).padEnd(4)}  ${meaning}`);
  const isShort = port.wholeHelp !== true && commands.some(({ name }) => everyday.has(name));
  const below = isShort ? ["`millrace help --all` lists every command."] : ["Exit codes:", ...codes];
  program.addHelpText("after", `\n${below.flatMap((line) => wrapProse(line, widthOf(port))).join("\n")}`);
  for (const command of commands)
    program.addCommand(build(command, port), { hidden: isShort && !everyday.has(command.name) });
  return program;
}

function build(command: Command, port: ParserPort, path = command.name, group = command.group): Program {
  const program = new Program(command.name)
    .summary(command.summary)
    .description(command.description ?? `${command.summary}.`)
    .helpGroup(`${group}:`)
    .helpOption("-h, --help", "print this help")
    .enablePositionalOptions() // an option after a subcommand is the subcommand's
    .exitOverride()
    .configureOutput(outputTo(port, `\`millrace ${path} --help\` lists its options.`))
    .configureHelp(helpIn(widthOf(port)))
    .showSuggestionAfterError(true);
  if (command.alias !== undefined) program.alias(command.alias);
  if (command.passThrough === true) program.passThroughOptions(true);
  const names: (string | undefined)[] = [];
  for (const spec of command.arguments ?? []) {
    const form = spec.variadic ? `${spec.name}...` : spec.name;
    program.addArgument(new Argument(spec.required ? `<${form}>` : `[${form}]`, spec.summary));
    names.push(spec.variadic ? undefined : spec.name);
  }
  for (const [name, spec] of Object.entries(command.options)) program.addOption(toOption(name, spec));
  const named = namesOfServe(command.options);
  if (named.length > 0) {
    const also = ["Also takes, as explained by `millrace serve --help`:", `  ${named.join(" ")}`];
    program.addHelpText("after", `\n${also.flatMap((line) => wrapLine(line, widthOf(port) - 2)).join("\n")}`);
  }
  for (const subcommand of command.subcommands ?? [])
    program.addCommand(build(subcommand, port, `${path} ${subcommand.name}`, group));
  if (command.examples !== undefined) {
    program.addHelpText("after", `\n${["Examples:", ...examplesIn(command.examples, widthOf(port))].join("\n")}`);
  }
  const words = command.subcommands?.map(({ name }) => name) ?? [];
  // The parser reads a word that is no subcommand as an argument too many.
  const isMistyped = words.length > 0 && names.length === 0;
  program.allowExcessArguments(isMistyped);
  program.action(async () => {
    if (isMistyped && program.args[0] !== undefined)
      throw noSubcommand(path, program.args[0], words, program.parent?.commands ?? []);
    const empty = names[program.args.indexOf("")];
    if (empty !== undefined)
      throw new MillraceError("invalid_request", `The ${empty} is empty.`, {
        hint: `\`millrace ${path} --help\` says what it can be.`,
      });
    const configured = (await port.configured?.(command)) ?? {};
    await port.found(command, { ...readOptions(program, command.options, port.env, configured), args: program.args });
  });
  return program;
}

function noSubcommand(
  path: string,
  typed: string,
  words: readonly string[],
  beside: readonly Program[],
): MillraceError {
  const near = beside.some((each) => each.name() === typed) ? `\`millrace ${typed}\`` : nearestWord(typed, words);
  const help = `\`millrace ${path} --help\` lists its commands.`;
  return new MillraceError("invalid_request", `Unknown command '${path} ${typed}'.`, {
    hint: near === undefined ? help : `Did you mean ${near}? ${help}`,
  });
}

/** What other programs call our commands. The nearest name in letters would be another one: `top` is not `stop`. */
const otherNames: Readonly<Record<string, string>> = {
  ask: "chat",
  info: "status",
  list: "models",
  login: "init",
  ls: "models",
  ps: "status",
  quota: "usage",
  remove: "uninstall",
  start: "serve",
  top: "status",
  up: "serve",
  upgrade: "update",
  version: "--version",
};

function commandMeant(typed: string, words: readonly string[]): string | undefined {
  const named = otherNames[typed.toLowerCase()];
  return named !== undefined && (named.startsWith("-") || words.includes(named)) ? named : nearestWord(typed, words);
}

/** Each example with its effect beside it, or below it if the line would be too wide. */
function examplesIn(examples: NonNullable<Command["examples"]>, width: number): readonly string[] {
  const longest = Math.max(...examples.map(([line]) => line.length));
  const beside = examples.map(([line, what]) => `  ${line.padEnd(longest)}  # ${what}`);
  if (beside.every((line) => line.length <= width)) return beside;
  return examples.flatMap(([line, what]) => [`  ${line}`, ...wrapLine(`      # ${what}`, width)]);
}

const widthOf = ({ columns = 80 }: ParserPort) => columns;

/** Below this width, an option's description is under the option and not beside it. */
const narrowest = 32;

/** Help that fits a terminal of this width. */
function helpIn(width: number): Partial<Help> {
  const help = new Help();
  return {
    showGlobalOptions: false,
    helpWidth: width,
    minWidthToWrap: 1,
    commandUsage: (command) =>
      wrapLine(`${" ".repeat("Usage: ".length)}${help.commandUsage(command)}`, width)
        .join("\n")
        .trimStart(),
    formatItem(term, termWidth, description, helper) {
      if (description === "" || width - termWidth - 4 >= narrowest)
        return help.formatItem.call(helper, term, termWidth, description, helper);
      return [...wrapLine(`  ${term}`, width), ...wrapLine(`      ${description}`, width)].join("\n");
    },
  };
}

/** Help goes to stdout; a problem of the command line is reported in the style of every other error. */
function outputTo({ write, problem }: ParserPort, help: string, words: readonly string[] = []) {
  return {
    writeOut: write,
    writeErr: write,
    outputError: (text: string) => {
      const [first = "", ...more] = text
        .trim()
        .replace(/^error: /, "")
        .split("\n");
      const [, typed] = /^unknown command '(.*)'/.exec(first) ?? [];
      const near = typed === undefined ? undefined : commandMeant(typed, words);
      const own = more.map((line) => line.replace(/^\((.*)\)$/, "$1")).join(" ");
      const suggestion = near === undefined ? (typed === undefined ? own : "") : `Did you mean ${near}?`;
      const message = `${first.charAt(0).toUpperCase()}${first.slice(1).replace(/\.?$/, ".")}`;
      problem({ message, hint: `${suggestion} ${help}`.trim() });
    },
  };
}

function toOption(name: string, spec: OptionSpec<unknown>): Option {
  const long = `--${kebab(name)}${spec.value === undefined ? "" : ` ${spec.value}`}`;
  const absent = spec.initial === undefined && spec.defaultText !== undefined ? ` (default: ${spec.defaultText})` : "";
  const summary = `${spec.summary}${spec.env === undefined ? "" : ` [${spec.env}]`}${absent}`;
  const option = new Option(spec.short === undefined ? long : `-${spec.short}, ${long}`, summary);
  if (spec.initial !== false && spec.initial !== undefined && !Array.isArray(spec.initial))
    option.default(spec.initial, spec.defaultText);
  if (spec.isOfServe === true) option.hideHelp();
  if (spec.value !== undefined) {
    option.argParser((raw: string, before: unknown) => {
      const value = naming(`--${kebab(name)}`, () => spec.parse(raw));
      return Array.isArray(spec.initial) && Array.isArray(value) && Array.isArray(before)
        ? [...(before as unknown[]), ...(value as unknown[])]
        : value;
    });
  }
  return option;
}

function readOptions(
  program: Program,
  options: Options,
  env: ParserPort["env"],
  configured: Readonly<Record<string, unknown>>,
): Pick<CommandInput<Options>, "options" | "given" | "typed"> {
  const values: Record<string, unknown> = {};
  const given = new Set<string>();
  const typed = new Set<string>();
  for (const [name, spec] of Object.entries(options)) {
    const { key, isNegative } = optionKeyOf(name, spec);
    const source = program.getOptionValueSource(key);
    const fromEnv = spec.env === undefined ? undefined : env[spec.env];
    if (source === "cli") typed.add(name);
    if (source === "cli" || (fromEnv !== undefined && fromEnv !== "") || name in configured) given.add(name);
    const value: unknown = program.getOptionValue(key);
    const isBare = value === true && spec.value !== undefined; // `--door` alone
    if (source === "cli") values[name] = isBare ? spec.parse("0") : isNegative ? value !== true : value;
    else if (fromEnv !== undefined && fromEnv !== "")
      values[name] = naming(spec.env ?? name, () => spec.parse(fromEnv));
    else values[name] = name in configured ? configured[name] : spec.initial;
  }
  return { options: values, given, typed };
}

/** Where the parser keeps the option: it takes `--no-this` for the opposite of `this`. */
function optionKeyOf(name: string, spec: OptionSpec<unknown>): { readonly key: string; readonly isNegative: boolean } {
  const option = toOption(name, spec);
  return { key: option.attributeName(), isNegative: option.negate };
}

/** Says in an error about a value where that value came from. */
function naming(source: string, parse: () => unknown): unknown {
  try {
    return parse();
  } catch (error) {
    if (isMillraceError(error)) error.message = `${source}: ${error.message}`;
    throw error;
  }
}
