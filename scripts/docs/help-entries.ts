import type { Command as Program } from "commander";
import type { Command } from "../../src/cli/command.ts";
import { buildProgram } from "../../src/cli/dispatch.ts";
import { loadAll } from "../../src/cli/main.ts";
import { namesOfServe } from "../../src/cli/options.ts";

/** What the help says of one command. */
export interface HelpEntry {
  /** `millrace keys create`. */
  readonly name: string;
  readonly usage: string;
  readonly summary: string;
  readonly description: string;
  readonly arguments: readonly Definition[];
  readonly options: readonly Definition[];
  /** Options that the help of `serve` explains. */
  readonly ofServe: readonly string[];
  readonly examples: NonNullable<Command["examples"]>;
}

/** A term and what it means. */
type Definition = readonly [term: string, meaning: string];

/** The help of the program itself, then of each command and of its subcommands, in the order of the help. */
export async function helpEntries(): Promise<readonly [HelpEntry, ...HelpEntry[]]> {
  const commands = await loadAll();
  const nothing = () => undefined;
  const program = buildProgram(commands, {
    env: {},
    version: "",
    write: nothing,
    problem: nothing,
    found: () => Promise.resolve(),
  });
  return [entryOf(program, undefined, "millrace"), ...entriesBelow(program, commands, "millrace")];
}

function entriesBelow(program: Program, commands: readonly Command[], path: string): readonly HelpEntry[] {
  return commands.flatMap((command) => {
    const built = program.commands.find((each) => each.name() === command.name);
    if (built === undefined) throw new Error(`the parser has no command ${command.name}`);
    const name = `${path} ${command.name}`;
    return [entryOf(built, command, name), ...entriesBelow(built, command.subcommands ?? [], name)];
  });
}

function entryOf(program: Program, command: Command | undefined, name: string): HelpEntry {
  const help = program.createHelp();
  const options = help
    .visibleOptions(program)
    .filter(({ long }) => command === undefined || long !== "--help") // each command has it
    .map((option): Definition => [help.optionTerm(option), help.optionDescription(option)]);
  return {
    name,
    usage: `${name} ${program.usage()}`.trim(),
    summary: program.summary(),
    description: program.description(),
    arguments: help
      .visibleArguments(program)
      .map((argument): Definition => [help.argumentTerm(argument), help.argumentDescription(argument)]),
    options,
    ofServe: namesOfServe(command?.options ?? {}),
    examples: command?.examples ?? [],
  };
}
