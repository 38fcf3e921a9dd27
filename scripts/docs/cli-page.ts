import { exitCodeMeanings } from "../../src/cli/terminal/exit-codes.ts";
import { type HelpEntry, helpEntries } from "./help-entries.ts";

/** `docs/cli.md`: what `--help` says of every command. */
export async function cliPage(): Promise<string> {
  const [program, ...commands] = await helpEntries();
  return `${[
    "# Command line",
    "",
    "<!-- Written by `npm run docs` from the source of `--help`. Change the commands, not this page. -->",
    "",
    program.description,
    "`millrace <command> --help` shows the same text. In a clone, type `npm run -s millrace --` in place of `millrace`.",
    "An option in brackets, such as `[MILLRACE_PORT]`, is the variable that sets it too. [settings.md](settings.md) lists what `config.toml` can set.",
    "",
    "| command | what it does |",
    "|---|---|",
    ...commands.map(({ name, summary }) => `| [\`${name}\`](#${anchor(name)}) | ${cell(summary)} |`),
    "",
    "## Options of every command",
    "",
    ...table("option", program.options),
    "",
    "## Exit codes",
    "",
    "| code | meaning |",
    "|---|---|",
    ...exitCodeMeanings.map(([code, meaning]) => `| ${code} | ${meaning} |`),
    ...commands.flatMap(section),
  ].join("\n")}\n`;
}

function section(entry: HelpEntry): readonly string[] {
  return [
    "",
    `## ${entry.name}`,
    "",
    text(entry.description),
    "",
    "```",
    entry.usage,
    "```",
    ...(entry.arguments.length === 0 ? [] : ["", ...table("argument", entry.arguments)]),
    ...(entry.options.length === 0 ? [] : ["", ...table("option", entry.options)]),
    ...[...entry.elsewhere].flatMap(([command, options]) => [
      "",
      `It also takes these options of [\`millrace ${command}\`](#millrace-${command}): ${options.map((option) => `\`${option}\``).join(", ")}.`,
    ]),
    ...(entry.examples.length === 0
      ? []
      : ["", "```sh", ...entry.examples.map(([line, what]) => `${line}   # ${what}`), "```"]),
  ];
}

function table(title: string, rows: HelpEntry["options"]): readonly string[] {
  return [
    `| ${title} | what it does |`,
    "|---|---|",
    ...rows.map(([term, meaning]) => `| \`${term.replaceAll("|", "\\|")}\` | ${cell(meaning)} |`),
  ];
}

function anchor(name: string): string {
  return name.replaceAll(" ", "-");
}

function cell(meaning: string): string {
  return text(meaning).replaceAll("|", "\\|").replaceAll("\n", " ");
}

function text(words: string): string {
  return words.replaceAll("<", "&lt;");
}
