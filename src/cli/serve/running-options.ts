import { MillraceError } from "../../base/errors.ts";
import type { Command, CommandContext } from "../command.ts";
import { holderOf } from "../gateway-process/home.ts";
import { kebab, spellDuration } from "../options.ts";
import type { Settings } from "../settings.ts";
import { type GatewayCommandOptions, ownGatewayOptions } from "./gateway-options.ts";

type OptionName = keyof typeof ownGatewayOptions;

/** The options that say who answers prompts. */
const whoAnswers: ReadonlySet<string> = new Set([
  "ide",
  "home",
  "pid",
  "endpoint",
  "tokenFile",
  "backend",
  "acpCommand",
] satisfies OptionName[]);

/** A gateway's options as they would be typed, by name, without those that nobody set. Without passwords. */
export function spellOptions(options: GatewayCommandOptions): Readonly<Record<string, string>> {
  const names = Object.keys(ownGatewayOptions) as OptionName[];
  const spelled = names.map((name) => [name, spellValue(name, options)] as const);
  return Object.fromEntries(spelled.filter((entry): entry is [OptionName, string] => entry[1] !== undefined));
}

/** The options of a gateway that a command line named, as words for `serve`. */
export function typedWords(options: GatewayCommandOptions, typed: ReadonlySet<string> = new Set()): readonly string[] {
  const names = (Object.keys(ownGatewayOptions) as OptionName[]).filter((name) => typed.has(name));
  return names.flatMap((name) => {
    const value = name === "redisUrl" ? options.redisUrl.url.reveal() : spellValue(name, options);
    const word = `--${kebab(name)}`;
    return value === undefined ? [] : options[name] === true ? [word] : [`${word}=${value}`];
  });
}

function spellValue(name: OptionName, { [name]: value }: GatewayCommandOptions): string | undefined {
  if (value === undefined || value === false) return undefined;
  if (name === "grace" || name === "retention") return spellDuration(Number(value));
  if (typeof value === "object" && "shown" in value) return value.shown;
  if (typeof value === "object") return value.map(quoted).join(" ");
  return String(value);
}

function quoted(word: string): string {
  if (word !== "" && !/[\s"']/.test(word)) return word;
  return word.includes('"') ? `'${word}'` : `"${word}"`;
}

/** The options of the gateway that runs, where one runs and says them. A command that needs the gateway says why its file cannot be read. */
function runningOptions(settings: Settings): Readonly<Record<string, string>> | undefined {
  try {
    return holderOf(settings.gatewayFile)?.options;
  } catch {
    return undefined;
  }
}

/**
 * The options of the running gateway that say who answers, as defaults of a command that looks for itself: it sees what the gateway sees.
 * By option name; none for `serve` and its like, which begin anew.
 */
export function optionsOfRunning(command: Command, settings: Settings): Readonly<Record<string, unknown>> {
  const names = Object.entries(command.options).filter(
    ([name, { env }]) => whoAnswers.has(name) && env === ownGatewayOptions[name as OptionName].env,
  );
  if (names.length === 0 || beginAnew.has(command.name)) return {};
  const running = runningOptions(settings) ?? {};
  return Object.fromEntries(
    names.flatMap(([name, { parse }]) => (running[name] === undefined ? [] : [[name, parse(running[name])]])),
  );
}

const beginAnew: ReadonlySet<string> = new Set(["serve", "restart", "simulate", "demo", "service"]);

/**
 * Refuses an option that the running gateway would ignore: one on the command line, or a variable that says who answers, if the gateway
 * has another value.
 *
 * @throws MillraceError `invalid_request` with the command that applies it.
 */
export function refuseOtherOptions(
  options: GatewayCommandOptions,
  { io, settings, typed }: Pick<CommandContext, "io" | "settings" | "typed">,
): void {
  const running = runningOptions(settings);
  if (running === undefined) return;
  for (const [name, { env = "" }] of Object.entries(ownGatewayOptions)) {
    const isAsked = typed?.has(name) === true || (whoAnswers.has(name) && Boolean(io.env[env]));
    const asked = spellValue(name as OptionName, options);
    if (!isAsked || name === "accept" || asked === running[name]) continue;
    const [word, has] = [`--${kebab(name)}`, running[name]];
    throw new MillraceError(
      "invalid_request",
      `The running gateway has ${has === undefined ? `no ${word}` : `${word} ${has}`}, so ${word} ${asked ?? ""} would have no effect.`,
      { hint: `Leave it out, or type \`millrace restart ${word} ${quoted(asked ?? "")}\` first.`, param: name },
    );
  }
}
