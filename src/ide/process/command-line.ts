import type { CommandLine } from "../host/host.ts";

/** Flags of a command line: name without dashes to its values in order; a flag without a value has `""`. */
export type Flags = ReadonlyMap<string, readonly string[]>;

const flagPattern = /^--?([A-Za-z][\w-]*)(?:=([\s\S]*))?$/;

/** Longest command line, in characters; a longer one is cut. */
export const maxCommandLength = 128 * 1024;

/**
 * Reads `--name value`, `--name=value` and both with one dash (Go's flag package takes either). A word that starts
 * with a dash is never the value of the flag before it. Words that belong to no flag are skipped.
 */
export function parseFlags(args: readonly string[]): Flags {
  const flags = new Map<string, string[]>();
  for (let i = 0; i < args.length; i++) {
    const match = flagPattern.exec(args[i] ?? "");
    const name = match?.[1];
    if (name === undefined) continue;
    let value = match?.[2];
    const next = args[i + 1];
    if (value === undefined && next !== undefined && !next.startsWith("-")) {
      value = next;
      i++;
    }
    const values = flags.get(name) ?? [];
    values.push(value ?? "");
    flags.set(name, values);
  }
  return flags;
}

/** The last value of a flag, as the program itself would take it; undefined if absent, `""` if it stands alone. */
export function lastFlag(flags: Flags, name: string): string | undefined {
  return flags.get(name)?.at(-1);
}

/** A flag's value as a port: 1..65535, otherwise undefined. */
export function portFlag(flags: Flags, name: string): number | undefined {
  const text = lastFlag(flags, name);
  if (text === undefined || !/^\d{1,5}$/.test(text)) return undefined;
  const port = Number(text);
  return port >= 1 && port <= 65_535 ? port : undefined;
}

/**
 * Splits a command line that the system shows as one text without quotes (macOS `ps`). Folder names may hold blanks
 * (`/Applications/Windsurf - Next.app/…`), so a word only starts a flag when a letter follows its dashes. The text between a flag and
 * the next one is its value, blanks included.
 */
export function splitUnquoted(text: string): CommandLine {
  const line = text.slice(0, maxCommandLength);
  const starts: number[] = [];
  for (const match of line.matchAll(/ (?=--?[A-Za-z])/g)) starts.push(match.index);
  const head = line.slice(0, starts[0] ?? line.length);
  const operand = head.indexOf(" /"); // `vim /usr/…`: no folder's name ends with a blank
  const program = (operand < 0 ? head : head.slice(0, operand)).trim();
  const args: string[] = operand < 0 ? [] : [head.slice(operand + 1).trim()];
  for (const [index, start] of starts.entries()) {
    const piece = line.slice(start + 1, starts[index + 1] ?? line.length).trim();
    const blank = piece.indexOf(" ");
    const equals = piece.indexOf("=");
    if (blank < 0 || (equals >= 0 && equals < blank)) args.push(piece);
    else args.push(piece.slice(0, blank), piece.slice(blank + 1).trim());
  }
  return { program, args };
}

/** Takes apart a Windows command line by the rules of `CommandLineToArgvW`: quotes group, backslashes escape only quotes. */
export function splitWindows(text: string): CommandLine {
  const line = text.slice(0, maxCommandLength);
  const words: string[] = [];
  let word = "";
  let quoted = false;
  let open = false; // whether a word has begun, so that "" counts as one
  for (let i = 0; i < line.length; i++) {
    const char = line.charAt(i);
    if (char === "\\") {
      let end = i;
      while (line.charAt(end) === "\\") end++;
      const count = end - i;
      const beforeQuote = line.charAt(end) === '"' && words.length > 0; // in the program's name a backslash is only itself
      word += "\\".repeat(beforeQuote ? Math.floor(count / 2) : count);
      open = true;
      i = end - 1;
      if (beforeQuote && count % 2 === 1) {
        word += '"';
        i = end;
      }
    } else if (char === '"') {
      quoted = !quoted;
      open = true;
    } else if ((char === " " || char === "\t") && !quoted) {
      if (open) words.push(word);
      word = "";
      open = false;
    } else {
      word += char;
      open = true;
    }
  }
  if (open) words.push(word);
  return { program: words[0] ?? "", args: words.slice(1) };
}
