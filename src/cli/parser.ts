import { Argument, Option, Command as Program } from "commander";
import { isMillraceError } from "../base/errors.ts";
import type { Command, CommandContext, OptionValues } from "./command.ts";
import { exitCodeMeanings } from "./exit-codes.ts";
import type { OptionSpec } from "./options.ts";

type Options = Readonly<Record<string, OptionSpec<unknown>>>;

/** What the parser found: which command, with which input. */
interface Parsed {
  readonly command: Command;
  readonly input: { readonly options: OptionValues<Options>; readonly args: readonly string[] };
}

interface ParserPort {
  readonly env: CommandContext["io"]["env"];
  readonly version: string;
  readonly write: (text: string) => void;
  readonly writeError: (text: string) => void;
  /** Told as soon as a command is chosen, before its options are parsed. */
  readonly found: (parsed: Parsed) => Promise<void>;
}

/** Builds the command line's grammar from the commands' own data. */
export function buildProgram(commands: readonly Command[], port: ParserPort): Program {
  const program = new Program("millrace")
    .description(
      "Serves the models of the AI IDE you already run on 127.0.0.1, through the APIs every other tool speaks.",
    )
    .version(port.version, "-V, --version", "print the version")
    .helpOption("-h, --help", "print this help, or that of a command")
    .option("--debug", "print the stack of an error")
    .helpCommand("help [command]", "print the help of a command")
    .showSuggestionAfterError(true)
    .showHelpAfterError("Run `millrace --help` for the commands and their options.")
    .enablePositionalOptions()
    .exitOverride()
    .configureOutput({ writeOut: port.write, writeErr: port.writeError })
    .configureHelp({ showGlobalOptions: false });
  program.addHelpText(
    "after",
    `\nExit codes:\n${exitCodeMeanings.map(([code, meaning]) => `  ${String(code).padEnd(4)} ${meaning}`).join("\n")}`,
  );
  for (const command of commands) program.addCommand(build(command, port));
  return program;
}

function build(command: Command, port: ParserPort): Program {
  const program = new Program(command.name)
    .summary(command.summary)
    .description(command.description ?? `${command.summary}.`)
    .helpGroup(`${command.group}:`)
    .helpOption("-h, --help", "print this help")
    .exitOverride()
    .configureOutput({ writeOut: port.write, writeErr: port.writeError })
    .showSuggestionAfterError(true)
    .showHelpAfterError(`Run \`millrace ${command.name} --help\` for its options.`);
  if (command.passThrough === true) program.passThroughOptions(true);
  for (const spec of command.arguments ?? []) {
    const form = spec.variadic ? `${spec.name}...` : spec.name;
    program.addArgument(new Argument(spec.required ? `<${form}>` : `[${form}]`, spec.summary));
  }
  for (const [name, spec] of Object.entries(command.options)) program.addOption(toOption(name, spec));
  for (const subcommand of command.subcommands ?? []) program.addCommand(build(subcommand, port));
  if (command.examples.length > 0) {
    const width = Math.max(...command.examples.map(([line]) => line.length));
    program.addHelpText(
      "after",
      `\nExamples:\n${command.examples.map(([line, what]) => `  ${line.padEnd(width)}  # ${what}`).join("\n")}`,
    );
  }
  program.action(async () => {
    await port.found({
      command,
      input: { options: readOptions(program, command.options, port.env), args: program.args },
    });
  });
  return program;
}

function toOption(name: string, spec: OptionSpec<unknown>): Option {
  const long = `--${kebab(name)}${spec.value === undefined ? "" : ` ${spec.value}`}`;
  const summary = spec.env === undefined ? spec.summary : `${spec.summary} [${spec.env}]`;
  const option = new Option(spec.short === undefined ? long : `-${spec.short}, ${long}`, summary);
  if (spec.initial !== false && spec.initial !== undefined && !Array.isArray(spec.initial))
    option.default(spec.initial, spec.defaultText);
  else if (spec.defaultText !== undefined) option.default(spec.initial, spec.defaultText);
  if (spec.value !== undefined) {
    option.argParser((raw: string, before: unknown) => {
      const value = spec.parse(raw);
      return Array.isArray(value) && Array.isArray(before)
        ? [...(before as unknown[]), ...(value as unknown[])]
        : value;
    });
  }
  return option;
}

function readOptions(program: Program, specs: Options, env: ParserPort["env"]): OptionValues<Options> {
  const values: Record<string, unknown> = {};
  for (const [name, spec] of Object.entries(specs)) {
    const source = program.getOptionValueSource(name);
    const fromEnv = spec.env === undefined ? undefined : env[spec.env];
    if (source === "cli") values[name] = program.getOptionValue(name);
    else if (fromEnv !== undefined && fromEnv !== "") values[name] = parseVariable(spec, fromEnv);
    else values[name] = spec.initial;
  }
  return values;
}

function parseVariable(spec: OptionSpec<unknown>, raw: string): unknown {
  try {
    return spec.parse(raw);
  } catch (error) {
    if (isMillraceError(error)) error.message = `${spec.env}: ${error.message}`;
    throw error;
  }
}

function kebab(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}
