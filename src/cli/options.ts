import { unitMs } from "../base/clock.ts";
import { MillraceError } from "../base/errors.ts";
import { type IdeName, ideName, variantOf } from "../base/ide-name.ts";
import { Secret } from "../base/secret.ts";
import { nearestWord } from "./terminal/spell.ts";

/** One option of a command, as data: help, parsing and documentation read the same value. */
export interface OptionSpec<T> {
  readonly summary: string;
  /** The placeholder of the value in help (`<port>`); undefined for a flag. */
  readonly value: string | undefined;
  /** One letter, without the dash. */
  readonly short: string | undefined;
  /** A variable that sets it where the command line does not. */
  readonly env: string | undefined;
  /** The default in words, where it is not the value itself. */
  readonly defaultText: string | undefined;
  readonly initial: T;
  /** The values it can have, where they are few. */
  readonly choices?: readonly string[];
  /** An option of `serve`, whose help explains it; the help of this command only names it. */
  readonly isOfServe?: true;
  /** A setting of `[serve]` with the same name is its default. */
  readonly isSetting?: true;
  /** Throws `invalid_request` that names the valid values. */
  readonly parse: (raw: string) => T;
}

interface Common {
  readonly short?: string;
  readonly env?: string;
  readonly defaultText?: string;
}

function spec<T>(
  own: Pick<OptionSpec<T>, "summary" | "value" | "initial" | "parse">,
  { short, env, defaultText }: Common,
): OptionSpec<T> {
  return { ...own, short, env, defaultText };
}

/** A switch: off unless given (or its variable is `1`, `true`, `yes` or `on`). */
export function flag(summary: string, common: Common = {}): OptionSpec<boolean> {
  const parse = (raw: string) => /^(1|true|yes|on)$/i.test(raw);
  return spec({ summary, value: undefined, initial: false, parse }, common);
}

export function text(summary: string, value: string, common: Common = {}): OptionSpec<string | undefined> {
  return spec<string | undefined>({ summary, value, initial: undefined, parse: (raw) => filled(raw, value) }, common);
}

/** The model that a command begins with. */
export function modelOption(summary: string): OptionSpec<string | undefined> {
  const common = { short: "m", env: "MILLRACE_MODEL", defaultText: "that of `config set model`, else the account's" };
  return { ...text(summary, "<name>", common), isSetting: true };
}

/** A program and its arguments, as words of one text. */
export function commandLine(
  summary: string,
  value: string,
  common: Common = {},
): OptionSpec<readonly string[] | undefined> {
  const parse = (raw: string) => {
    const words = splitCommand(raw);
    if (words?.[0] !== undefined && words[0] !== "") return words;
    throw wrong(raw, 'a command such as "devin acp"');
  };
  return spec<readonly string[] | undefined>({ summary, value, initial: undefined, parse }, common);
}

/** May be given several times. `check` answers what a wrong value should be. */
export function texts(
  summary: string,
  value: string,
  { check = () => undefined, ...common }: Common & { readonly check?: (raw: string) => string | undefined } = {},
): OptionSpec<readonly string[]> {
  const parse = (raw: string) => {
    const wanted = check(filled(raw, value));
    if (wanted === undefined) return [raw];
    throw wrong(raw, wanted);
  };
  return spec<readonly string[]>({ summary, value: `${value}...`, initial: [], parse }, common);
}

export function integer<D extends number | undefined>(
  summary: string,
  value: string,
  range: { readonly min: number; readonly max: number; readonly initial: D },
  common: Common = {},
): OptionSpec<number | D> {
  const { min, max, initial } = range;
  const parse = (raw: string) => {
    const parsed = /^\d+$/.test(raw) ? Number(raw) : Number.NaN;
    if (Number.isSafeInteger(parsed) && parsed >= min && parsed <= max) return parsed;
    throw wrong(raw, `a whole number from ${min} to ${max}`);
  };
  return spec<number | D>({ summary, value, initial, parse }, common);
}

export function choice<const C extends string, D extends C | undefined>(
  summary: string,
  choices: readonly C[],
  initial: D,
  { nameOf, ...common }: Common & { readonly nameOf?: (raw: string) => string | undefined } = {},
): OptionSpec<C | D> {
  const parse = (raw: string) => {
    const name = nameOf === undefined ? raw : nameOf(raw);
    const found = choices.find((candidate) => candidate === name);
    if (found !== undefined) return found;
    throw wrong(raw, `one of ${choices.join(", ")}`, nearestWord(raw, choices));
  };
  const own = { summary: `${summary} (${choices.join(", ")})`, value: "<which>", initial, parse };
  return { ...spec<C | D>(own, common), choices };
}

/** One of the IDEs that Millrace knows, by each name that a screen shows. */
export function ideChoice<const N extends IdeName>(
  summary: string,
  names: readonly N[],
  common: Common = {},
): OptionSpec<N | undefined> {
  const nameOf = (raw: string) => {
    const variant = variantOf(raw);
    return variant && ideName(variant);
  };
  return choice(summary, names, undefined, { ...common, nameOf });
}

/** Options of `serve` for another command: its help only names them, and the configuration file sets them too. */
export function ofServe<const O extends Readonly<Record<string, OptionSpec<unknown>>>>(options: O): O {
  return Object.fromEntries(
    Object.entries(options).map(([name, option]) => [name, { ...option, isOfServe: true }]),
  ) as unknown as O; // the same keys with the same types, and one field more
}

/** A time span such as `0`, `500ms`, `90s`, `2m`, `36h`, `7d`, in ms; `range` in ms too. */
export function duration<D extends number | undefined>(
  summary: string,
  initial: D,
  { range, ...common }: Common & { readonly range?: DurationRange } = {},
): OptionSpec<number | D> {
  const parse = (raw: string) => {
    const ms = parseDuration(raw);
    if (range === undefined || (ms >= range.min && ms <= range.max)) return ms;
    throw wrong(raw, `a time of ${range.words}`);
  };
  const shown = initial === undefined ? {} : { defaultText: spellDuration(initial) };
  return spec<number | D>({ summary, value: "<time>", initial, parse }, { ...shown, ...common });
}

interface DurationRange {
  readonly min: number;
  readonly max: number;
  /** `1m to 365d`. */
  readonly words: string;
}

/** Parses `2m` and the like into ms. Throws `invalid_request`. */
export function parseDuration(raw: string): number {
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(raw);
  const unit = match?.[2] === undefined ? undefined : unitMs[match[2]];
  if (raw === "0") return 0;
  const ms = match?.[1] === undefined || unit === undefined ? Number.NaN : Math.round(Number(match[1]) * unit);
  if (ms <= longestMs) return ms;
  throw wrong(raw, `a time such as 500ms, 90s, 2m, 12h or 7d${ms > longestMs ? ", of 36500d at most" : ""}`);
}

/** A time as it would be typed: `7m`, `1500ms`. */
export function spellDuration(ms: number): string {
  const units = Object.entries(unitMs).filter(([unit]) => unit !== "w"); // no option reads weeks
  const [unit, size] = units.findLast(([, each]) => ms >= each && ms % each === 0) ?? ["ms", 1];
  return `${ms / size}${unit}`;
}

/** A century: a clock can still add it to the present. */
const longestMs = 36_500 * 86_400_000;

/** An empty text is most often a variable of a script that is not set. */
function filled(raw: string, value: string): string {
  if (raw !== "") return raw;
  throw wrong(raw, `a ${value}`);
}

/** The address of a Redis server; by default one on this machine. */
export function redisAddress(summary: string, common: Common = {}): OptionSpec<RedisAddress> {
  const initial = parseRedisAddress(defaultRedisAddress);
  const own = { summary, value: "<url>", initial, parse: parseRedisAddress };
  return spec(own, { defaultText: defaultRedisAddress, ...common });
}

function wrong(raw: string, wanted: string, near?: string): MillraceError {
  return new MillraceError("invalid_request", `${JSON.stringify(raw)} is not ${wanted}.`, {
    hint: near === undefined ? "Add --help to see what the options accept." : `Did you mean ${near}?`,
  });
}

/** The address of a Redis server. Its URL may hold a password; its shown form does not. */
export interface RedisAddress {
  readonly url: Secret;
  readonly shown: string;
}

const hint = "Give one like redis://127.0.0.1:6379, rediss://user:password@host:6380/1 or unix:/path/of/a/socket.";

/** Reads the address of a Redis server. Throws `invalid_request` without any part of the text: it may hold a password. */
export function parseRedisAddress(text: string): RedisAddress {
  if (/^unix:\/./.test(text)) return { url: new Secret(text), shown: text };
  const parsed = URL.parse(text);
  if (parsed === null || !/^rediss?:$/.test(parsed.protocol) || parsed.hostname === "") {
    throw new MillraceError("invalid_request", "That is not the address of a Redis server.", { hint });
  }
  return { url: new Secret(text), shown: `${parsed.protocol}//${parsed.host}${parsed.pathname}` };
}

const defaultRedisAddress = "redis://127.0.0.1:6379";

/**
 * The words of a command line: blanks separate them, single or double quotes keep blanks. Nothing is expanded and no shell
 * is involved; a backslash is an ordinary character, as paths on Windows need. Undefined when a quote is not closed.
 */
export function splitCommand(line: string): string[] | undefined {
  const words: string[] = [];
  let word: string | undefined;
  let quote: string | undefined;
  for (const character of line) {
    if (quote !== undefined) {
      if (character === quote) quote = undefined;
      else word += character;
    } else if (character === '"' || character === "'") {
      quote = character;
      word ??= "";
    } else if (/\s/.test(character)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else word = (word ?? "") + character;
  }
  if (quote !== undefined) return undefined;
  if (word !== undefined) words.push(word);
  return words;
}

/** The options that `serve` explains, by their names alone. */
export function namesOfServe(options: Readonly<Record<string, OptionSpec<unknown>>>): readonly string[] {
  return Object.entries(options).flatMap(([name, { isOfServe }]) => (isOfServe === true ? [`--${kebab(name)}`] : []));
}

/** `logLevel` is `--log-level` on the command line. */
export function kebab(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}
