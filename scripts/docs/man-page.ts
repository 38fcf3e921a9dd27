import { exitCodeMeanings } from "../../src/cli/terminal/exit-codes.ts";
import { type HelpEntry, helpEntries } from "./help-entries.ts";

/** `man/millrace.1`: what `--help` says of every command, for `man millrace`. Source: man(7) of groff. */
export async function manPage(version: string): Promise<string> {
  const [program, ...commands] = await helpEntries();
  return `${[
    `.\\" Written by npm run generate from the source of --help.`,
    `.TH MILLRACE 1 "" "millrace ${version}" "Millrace"`,
    ".SH NAME",
    "millrace \\- serve the models of your AI IDE on 127.0.0.1",
    ".SH SYNOPSIS",
    ".B millrace",
    escape("[options] command"),
    ".SH DESCRIPTION",
    escape(program.description),
    ".SH OPTIONS",
    ...program.options.flatMap(described),
    ".SH COMMANDS",
    ...commands.flatMap(section),
    ".SH EXIT STATUS",
    ...exitCodeMeanings.flatMap(([code, meaning]) => described([String(code), meaning])),
    ".SH FILES",
    ...described(["~/.millrace/config.toml", "settings"]),
    ...described(["~/.millrace/key", "the key of the gateway"]),
  ].join("\n")}\n`;
}

function section(entry: HelpEntry): readonly string[] {
  return [
    `.SS "${escape(entry.usage)}"`,
    escape(entry.description),
    ...entry.arguments.flatMap(described),
    ...entry.options.flatMap(described),
    ...(entry.ofServe.length === 0
      ? []
      : [".PP", escape(`It also takes these options of millrace serve: ${entry.ofServe.join(", ")}.`)]),
    ...(entry.examples.length === 0 ? [] : [".PP", "Examples:"]),
    ...entry.examples.flatMap(([line, what]) => described([line, what])),
  ];
}

function described([term, meaning]: readonly [string, string]): readonly string[] {
  return [".TP", `.B ${escape(term)}`, escape(meaning)];
}

/** Text that troff takes as it is: no escapes, no requests, hyphens that can be copied. */
function escape(text: string): string {
  return text
    .replaceAll("\\", "\\e")
    .replaceAll("-", "\\-")
    .replaceAll('"', "\\(dq")
    .replaceAll("'", "\\(aq")
    .replaceAll(/^\./gm, "\\&.");
}
