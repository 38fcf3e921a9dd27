import { type CommandLine, type ServerEnvironment, serverEnvironment } from "../host/host.ts";
import { splitUnquoted } from "../process/command-line.ts";

/**
 * The columns asked of `ps`, in this order, without headings; `lstart` is five words. One option each: BSD's `ps` takes
 * all that follows the first equals sign of an option for a heading.
 */
export const psColumns = ["pid=", "ppid=", "uid=", "lstart=", "stat=", "command="].flatMap((column) => ["-o", column]);

/** One line of `ps -ww` with these columns, printed with `LC_ALL=C` and `TZ=UTC`. */
export interface PsRow {
  readonly pid: number;
  readonly parentPid: number;
  readonly uid: number;
  readonly startedAtMs: number;
  readonly zombie: boolean;
  readonly command: CommandLine;
}

const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const line =
  /^ *(\d{1,10}) +(\d{1,10}) +(-?\d{1,10}) +[A-Z][a-z]{2} +([A-Z][a-z]{2}) +(\d{1,2}) (\d{2}):(\d{2}):(\d{2}) (\d{4}) +([A-Za-z?][^ ]{0,15}) *(.*)$/;

/** Parses the processes in the output of `ps`; lines of any other form are left out. Day and month also in the other order (`31 Jan`). */
export function parsePs(text: string): readonly PsRow[] {
  const rows: PsRow[] = [];
  for (const raw of text.split("\n")) {
    const swapped = raw.replace(/^( *\d+ +\d+ +-?\d+ +[A-Z][a-z]{2}) +(\d{1,2}) ([A-Z][a-z]{2}) /, "$1 $3 $2 ");
    const match = line.exec(swapped.replace(/\r$/, ""));
    if (match === null) continue;
    const [, pid, parentPid, uid, monthName, day, hours, minutes, seconds, year, stat, command] = match;
    const month = months.indexOf(monthName ?? "");
    if (month < 0) continue;
    rows.push({
      pid: Number(pid),
      parentPid: Number(parentPid),
      uid: unsigned(Number(uid)),
      startedAtMs: Date.UTC(Number(year), month, Number(day), Number(hours), Number(minutes), Number(seconds)),
      zombie: (stat ?? "").startsWith("Z"),
      command: splitUnquoted(unescaped(command ?? "")),
    });
  }
  return rows;
}

/**
 * Letters of other languages, which BSD's `ps` prints as its language C can show them. `M-C` is the byte of `C` with its highest bit set,
 * `M-^C` that of Ctrl-C. Only bytes that make letters of UTF-8 are taken for such. Source: vis(3).
 */
function unescaped(text: string): string {
  return text.replaceAll(/(?:\\?M(?:-[\x20-\x7e]|\^[?-_])|\\[2-3][0-7]{2}){2,}/g, (escaped) => {
    const bytes = [...escaped.matchAll(/M(-|\^)(.)|\\([0-7]{3})/g)].map(([, kind, letter = "", octal]) => {
      if (octal !== undefined) return Number.parseInt(octal, 8);
      const code = letter.charCodeAt(0);
      return 0x80 | (kind === "^" ? code ^ 0x40 : code);
    });
    try {
      return new TextDecoder("utf-8", { fatal: true }).decode(Uint8Array.from(bytes));
    } catch {
      return escaped;
    }
  });
}

/** The user `nobody` is -2 in `ps` and 4294967294 elsewhere. */
function unsigned(uid: number): number {
  return uid < 0 ? uid + 2 ** 32 : uid;
}

/**
 * Parses the variables in the output of `ps -E -ww -o command=`: the command, then `NAME=VALUE` pairs, all separated by one blank and
 * nothing quoted. A value ends where a blank, a name and an equals sign follow; of two equal names the first wins.
 */
export function parsePsEnvironment(text: string): ServerEnvironment {
  const printed = unescaped(text.replace(/\r?\n[\s\S]*$/, ""));
  const starts = [...printed.matchAll(/ (?=[A-Za-z_][A-Za-z0-9_]*=)/g)].map((match) => match.index + 1);
  return serverEnvironment(
    starts.map((start, index) => {
      const pair = printed.slice(start, (starts[index + 1] ?? printed.length + 1) - 1);
      return [pair.slice(0, pair.indexOf("=")), pair.slice(pair.indexOf("=") + 1)];
    }),
  );
}

/** A listening socket and who holds it. */
export interface LsofRow {
  readonly pid: number;
  readonly address: string;
  readonly port: number;
}

/**
 * Parses the sockets in the output of `lsof -nP -iTCP -sTCP:LISTEN`: with `-Fpn` (a letter, then the value, one a line) or as a table.
 * `*` is every address.
 */
export function parseLsof(text: string): readonly LsofRow[] {
  const rows: LsofRow[] = [];
  let pid = 0;
  for (const raw of text.split("\n")) {
    const entry = raw.trimEnd();
    const field = /^p(\d{1,10})$/.exec(entry)?.[1];
    if (field !== undefined) {
      pid = Number(field);
      continue;
    }
    const table = /^\S+ +(\d{1,10}) .* TCP (\S+) \(LISTEN\)$/.exec(entry);
    const name = table?.[2] ?? /^n(\S+)$/.exec(entry)?.[1];
    const socket = parseSocket(name ?? "");
    const holder = table === null ? pid : Number(table[1]);
    if (socket !== undefined && holder > 0) rows.push({ pid: holder, ...socket });
  }
  return rows;
}

/** `127.0.0.1:42101`, `[::1]:42101`, `*:42101`. */
export function parseSocket(text: string): { readonly address: string; readonly port: number } | undefined {
  const match = /^(\*|\[[0-9A-Fa-f:.]{2,45}(?:%\w+)?\]|\d{1,3}(?:\.\d{1,3}){3}):(\d{1,5})$/.exec(text);
  const port = Number(match?.[2] ?? 0);
  if (match?.[1] === undefined || port < 1 || port > 65_535) return undefined;
  return { address: match[1] === "*" ? "0.0.0.0" : match[1].replace(/^\[|(?:%\w+)?\]$/g, ""), port };
}
