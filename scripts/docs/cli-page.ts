import { serveCommand } from "../../src/cli/commands/serve.ts";
import { serveSettings } from "../../src/cli/config/settings-list.ts";
import { exitCodeMeanings } from "../../src/cli/terminal/exit-codes.ts";
import { type HelpEntry, helpEntries } from "./help-entries.ts";

/** `docs/cli.md`: each command, what it does and the names of its options. `--help` and the manual page explain the options. */
export async function cliPage(): Promise<string> {
  const [program, ...commands] = await helpEntries();
  const settings = settingsOf(commands);
  return `${[
    "# Command line",
    "",
    "<!-- Written by `npm run generate` from the source of `--help`. Change the commands, not this page. -->",
    "",
    program.description,
    "`millrace <command> --help` and `man millrace` explain each option. In a clone, type `npm run -s millrace --` in place of `millrace`.",
    "*Settings*: the command also takes options of the gateway, which [settings.md](settings.md#serve) lists; its help names them.",
    "",
    "| command | what it does | options |",
    "|---|---|---|",
    ...commands.map((entry) => row([`\`${usage(entry)}\``, entry.summary, options(entry, settings)])),
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

/** The options of `serve` that settings.md lists, as the help shows them: another command's option of that name may be something else. */
function settingsOf(commands: readonly HelpEntry[]): ReadonlySet<string> {
  const listed = new Set(serveSettings(serveCommand).map(({ option }) => option));
  const serve = commands.find(({ name }) => name === "millrace serve");
  return new Set(
    serve?.options.filter(([term]) => listed.has(term.split(" ")[0] ?? "")).map((option) => option.join()),
  );
}

function options(entry: HelpEntry, settings: ReadonlySet<string>): string {
  const own = entry.options.filter((option) => !settings.has(option.join()));
  const takesSettings = entry.elsewhere.size > 0 || own.length < entry.options.length;
  return [terms(own), takesSettings ? "*settings*" : ""].filter((part) => part !== "").join(", ");
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
