import { exitCodeMeanings } from "../../src/cli/terminal/exit-codes.ts";
import { type HelpEntry, helpEntries } from "./help-entries.ts";
import { list } from "./markdown.ts";

/** Each command and what it does. `--help` and the manual page have options and subcommands. */
export async function commandTable(): Promise<string> {
  const [program, ...commands] = await helpEntries();
  const options = program.options.map(([term]) => `\`${term}\``).join(", ");
  const listed = commands.filter(({ name }) => name.split(" ").length === 2);
  const rows = listed.map((entry): readonly [string, string] => [`\`${usage(entry)}\``, entry.summary]);
  return `${list(rows)}\n\nOptions of every command: ${options}.`;
}

export function exitCodeTable(): string {
  return list(exitCodeMeanings.map(([code, meaning]) => [`${code}`, meaning]));
}

/** `tail [turn]`, without the word for its options. */
function usage(entry: HelpEntry): string {
  return entry.usage.replaceAll(/^millrace | \[options\]| \[command\]/g, "");
}
