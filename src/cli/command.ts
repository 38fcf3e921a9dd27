import type { OptionSpec } from "./options.ts";
import type { Settings } from "./settings.ts";
import type { Io, Output } from "./terminal/output.ts";

/** The arguments of a command's handler. */
export interface CommandContext {
  readonly io: Io;
  readonly out: Output;
  readonly settings: Settings;
  readonly signal: AbortSignal;
  /** The command was asked for JSON: results and failures are JSON. */
  readonly json: boolean;
  /** The options on the command line, by name; absent where no command line was typed. */
  readonly typed?: ReadonlySet<string>;
}

/** A positional argument. A variadic one comes last and takes the rest. */
export interface ArgumentSpec {
  readonly name: string;
  readonly summary: string;
  readonly required: boolean;
  readonly variadic: boolean;
}

type Options = Readonly<Record<string, OptionSpec<unknown>>>;

/** The values that a command's options parse to. */
export type OptionValues<O extends Options> = { readonly [K in keyof O]: O[K] extends OptionSpec<infer T> ? T : never };

/** A command's input from the command line, the environment and the configuration file. */
export interface CommandInput<O extends Options> {
  readonly options: OptionValues<O>;
  readonly args: readonly string[];
  /** The options that the user set anywhere; the others have their defaults. */
  readonly given: ReadonlySet<string>;
  /** Those of them on the command line. */
  readonly typed: ReadonlySet<string>;
  /** The whole command line, as it was typed. */
  readonly argv: readonly string[];
}

/** Heading in the list of commands. */
export type CommandGroup = "Serve" | "Use" | "Look" | "Set up";

interface CommandDefinition<O extends Options> {
  readonly name: string;
  /** Another name of the same command. */
  readonly alias?: string;
  readonly summary: string;
  readonly description?: string;
  /** A subcommand has that of its command. */
  readonly group?: CommandGroup;
  readonly options: O;
  readonly arguments?: readonly ArgumentSpec[];
  readonly examples?: readonly (readonly [command: string, what: string])[];
  /** Arguments after the first positional one are not parsed: they belong to another program. */
  readonly passThrough?: boolean;
  readonly subcommands?: readonly Command[];
  /** Answers the exit code; 0 if it answers nothing. */
  run(input: CommandInput<O>, context: CommandContext): Promise<number | void>;
}

/** A command as a value: help, parsing, completion and docs read it. Its option `json`, where it has one, is the failure format too. */
export type Command = CommandDefinition<Options>;

/** Types a command's handler from its options, then forgets the exact type. */
export function defineCommand<const O extends Options>(definition: CommandDefinition<O>): Command {
  return definition; // its options are read back as the type they were given with: the parser builds the values from them
}
