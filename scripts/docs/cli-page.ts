import { exitCodeMeanings } from "../../src/cli/terminal/exit-codes.ts";
import { type HelpEntry, helpEntries } from "./help-entries.ts";

/** `docs/cli.md`: each command and what it does. `--help` and the manual page have the options. */
export async function cliPage(): Promise<string> {
  const [program, ...commands] = await helpEntries();
  return `${[
    "# Command line",
    "",
    "<!-- Written by `npm run generate` from the source of `--help`. Change the commands, not this page. -->",
    "",
    program.description,
    "`millrace <command> --help` and `man millrace` have the options of each. In a clone, type `npm run -s millrace --` in place of `millrace`.",
    "A command that may start a gateway also takes [its settings](settings.md#serve).",
    "",
    "| command | what it does |",
    "|---|---|",
    ...commands.map((entry) => row([`\`${usage(entry)}\``, entry.summary])),
    "",
    `Options of every command: ${terms(program.options)}.`,
    "",
    "## Exit codes",
    "",
    "| code | meaning |",
    "|---|---|",
    ...exitCodeMeanings.map(([code, meaning]) => row([`${code}`, meaning])),
  ].join("\n")}\n`;
}

function terms(rows: HelpEntry["options"]): string {
  return rows.map(([term]) => `\`${term}\``).join(", ");
}

/** `millrace tail [turn]`, without the word for its options. */
function usage(entry: HelpEntry): string {
  return entry.usage.replace(/ \[options\]| \[command\]/g, "");
}

function row(cells: readonly string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll("|", "\\|").replaceAll("\n", " ")).join(" | ")} |`;
}
