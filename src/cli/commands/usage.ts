import { MillraceError } from "../../base/errors.ts";
import { productOfIde } from "../../base/ide-name.ts";
import { localZone } from "../../base/time-zone.ts";
import type { LimitsEnvelope, LimitsWindowEnvelope } from "../../usage/envelope.ts";
import { spendDimensions } from "../../usage/history/history.ts";
import { durationInWords } from "../../usage/pace-words.ts";
import { parseSince, parseTime } from "../../usage/since.ts";
import { type Command, type CommandContext, defineCommand, type OptionValues } from "../command.ts";
import { type LimitsSource, type WithLimits, withLimits } from "../compose/limits-source.ts";
import { notedLimits } from "../limits/limits-file.ts";
import { choice, flag, ideChoice, integer, text } from "../options.ts";
import { outlines } from "../outlines.ts";
import { exitCodes } from "../terminal/exit-codes.ts";
import { limitsTable, printElsewhere, printSpend, spellInstant } from "../terminal/usage-table.ts";

const options = {
  since: text("show the use since this time: 7d, 36h, 2w, 2026-11-01, yesterday, last week", "<time>"),
  until: text("with --since or --by: show the use until this time", "<time>"),
  by: choice("sum the use by", spendDimensions, undefined, { defaultText: "model" }),
  models: flag("also show the limits of single models"),
  ide: ideChoice("only this IDE", ["devin", "devin-next", "antigravity"]),
  minRemaining: integer("check that this share is left, in percent, as an exit code", "<percent>", {
    min: 0,
    max: 100,
    initial: undefined,
  }),
  window: text("with --min-remaining: check only this limit, by its name in --json, such as weekly", "<id>"),
  wide: flag("with --since or --by: show all columns and whole names, even on a narrow terminal"),
  json: flag("print JSON, as GET /v1/limits and GET /v1/usage"),
} as const;
type UsageOptions = OptionValues<typeof options>;

/** `millrace usage`: the rest of the plan and whether it lasts; with `--since` or `--by`, who used it. */
export function usageCommand(withSource: WithLimits = withLimits): Command {
  return defineCommand({
    ...outlines.usage,
    description:
      "Shows the limits of every running IDE, when each resets, and whether it lasts until then. The tick in a bar marks an even pace. With --since or --by it shows what the gateway's turns used. `~` marks numbers that are partly estimated. With --min-remaining it is a check for scripts: it exits with 0 if every limit has that share left, with 1 if one has less, with 69 if nothing is known, and with 64 if there is no such limit.",
    options,
    examples: [
      ["millrace usage", "what is left now"],
      ["millrace usage --since 7d --by project", "what each project cost this week"],
      ["millrace usage --since yesterday --until today --by client", "who used it yesterday"],
      ["millrace usage --min-remaining 15 --window weekly && ./nightly.sh", "run the script only if 15 % are left"],
    ],
    run: ({ options }, context) =>
      withSource(context, async (source) => {
        const { minRemaining } = options;
        if (minRemaining !== undefined)
          return guard({ ...options, minRemaining }, await source.limits(context.signal), context);
        if (options.since !== undefined || options.by !== undefined || options.until !== undefined)
          await report(options, source, context);
        else show(options, await limitsOf(source, context, !options.json, options.ide), context);
        return exitCodes.ok;
      }),
  });
}

function guard(options: Floor, limits: LimitsEnvelope, { out }: CommandContext): number {
  const checked = checkLimits(limits, options);
  if (options.json) out.json({ data: checked });
  else for (const entry of checked) out.note(spellChecked(entry, options));
  return exitCodeOf(checked);
}

/** The limits, for people also those that a gateway noted last; throws why there are none when there is nothing to show. */
async function limitsOf(
  source: LimitsSource,
  { signal, settings }: CommandContext,
  takesOld: boolean,
  ide: string | undefined,
): Promise<LimitsEnvelope> {
  const limits = onlyOf(await source.limits(signal), ide);
  const [error] = limits.errors;
  if (limits.data.length > 0) return limits;
  const noted = takesOld ? notedLimits(settings.folder) : [];
  if (noted.length > 0) return { ...limits, data: noted };
  if (error === undefined)
    throw new MillraceError("ide_not_running", "No IDE answered, so there are no limits to show.");
  throw MillraceError.fromRecord({ ...error, hint: hintOf(error), code: error.code as MillraceError["code"] }); // codes are ours
}

/** The next step for somebody who sent no request. */
function hintOf({ code, hint }: LimitsEnvelope["errors"][number]): string {
  if (code !== "ide_not_running") return hint.replace(/,? (?:and |then )?send the request again/, "");
  return "Start Devin Desktop and open a folder. `millrace doctor` shows where Millrace looked.";
}

function onlyOf(limits: LimitsEnvelope, ide: string | undefined): LimitsEnvelope {
  return ide === undefined ? limits : { ...limits, data: limits.data.filter((of) => of.ide === ide) };
}

function show(options: UsageOptions, limits: LimitsEnvelope, context: CommandContext): void {
  const { out, io } = context;
  if (options.json) out.json(limits);
  else {
    const { models } = options;
    for (const line of limitsTable(limits, out, { models, nowMs: io.clock.now(), formatInstant: spellInstant }))
      out.line(line);
    for (const line of wrongWith(limits, io.clock.now())) out.note(line);
  }
}

/** Why nothing newer could be read, and how old the numbers are. */
function wrongWith(limits: LimitsEnvelope, nowMs: number): readonly string[] {
  const old = limits.data.filter(({ stale }) => stale && limits.errors.length > 0);
  return [
    ...limits.errors.map((error) => `${nameOfIde(limits, error.ide)}${error.message} ${hintOf(error)}`),
    ...old.map((of) => {
      const age = durationInWords(nowMs - Date.parse(of.fetched_at));
      const when = age === "now" ? "less than a minute ago" : `${age} ago`;
      return `${of.product || of.ide} does not answer: its limits were read ${when}, and may have changed since.`;
    }),
  ];
}

/** The product that an error is about, as the limits name it. */
function nameOfIde({ data }: LimitsEnvelope, ide: string | null): string {
  if (ide === null) return "";
  return `${data.find((of) => of.ide === ide)?.product || productOfIde(ide)}: `;
}

async function report(options: UsageOptions, source: LimitsSource, context: CommandContext): Promise<void> {
  const { out, io, signal } = context;
  const nowMs = io.clock.now();
  const sinceMs = parseSince(options.since ?? "30d", nowMs, "--since");
  const untilMs = options.until === undefined ? undefined : parseTime(options.until, nowMs, "--until");
  if (untilMs !== undefined && untilMs <= sinceMs) {
    const hint = "Give an earlier --since, or a later --until.";
    throw new MillraceError("invalid_request", "--until is not after --since.", { hint });
  }
  const { zone: timeZone, isFallback } = localZone();
  if (isFallback) out.note(`TZ=${JSON.stringify(io.env["TZ"] ?? "")} names no time zone: days and times are in UTC.`);
  const usage = await source.usage({ sinceMs, untilMs, by: options.by ?? "model", timeZone }, signal);
  if (options.json) return out.json(usage);
  const until = untilMs === undefined ? "" : `, until ${spellInstant(untilMs)}`;
  if (usage.data.length === 0) out.line(`No turn ended since ${spellInstant(sinceMs)}${until}.`);
  else printSpend(usage, out, options.wide);
  const isUsed = printElsewhere(usage, out, options.wide) || usage.data.length > 0;
  const more =
    untilMs === undefined
      ? "shows more. `millrace setup generic` says how to ask the first"
      : "or a later --until shows more";
  if (!isUsed) out.note(`An earlier --since ${more}.`);
}

/** How much has to be left of which limits, for `millrace usage --min-remaining`. */
type Floor = UsageOptions & { readonly minRemaining: number };
type LimitVerdict = ReturnType<typeof checkLimits>[number];

/** The exit code for a script: 0 enough, 1 not, 69 not known. */
function exitCodeOf(checked: readonly LimitVerdict[]): number {
  if (checked.some(({ enough }) => enough === false)) return exitCodes.negative;
  return checked.some(({ enough }) => enough === null) ? exitCodes.unavailable : exitCodes.ok;
}

/** Whether enough is left of each limit. Throws `invalid_request` for an unknown IDE or limit, `ide_not_running` without a reading. */
function checkLimits(limits: LimitsEnvelope, asked: Floor) {
  const read = limits.data.filter((of) => asked.ide === undefined || of.ide === asked.ide);
  if (read.length === 0) {
    const [error] = limits.errors;
    throw new MillraceError("ide_not_running", error?.message ?? "No IDE answered.", {
      hint: "Start it, then try again.",
    });
  }
  const windows = read.flatMap((of) => of.windows.map((window) => ({ of, window })));
  const chosen = windows.filter(({ window }) =>
    asked.window === undefined ? window.kind === "consumption" && window.scope !== "model" : window.id === asked.window,
  );
  if (asked.window !== undefined && chosen.length === 0 && windows.length > 0)
    throw unknown("limit", asked.window, [...new Set(windows.map(({ window }) => window.id))]);
  if (chosen.length === 0)
    throw new MillraceError("ide_not_running", "The IDE did not report the limits of the plan.", {
      hint: "Try again later.",
    });
  return chosen.map(({ of, window }) => {
    const nowMs = Date.parse(limits.now);
    // A minute-old reading still counts here, also if a turn ended since; an expired reading does not.
    const left = Date.parse(of.expires_at) < nowMs ? undefined : remainingPercent(window, nowMs);
    return {
      ide: of.ide,
      product: of.product || productOfIde(of.ide),
      window: window.id,
      remaining_percent: left === undefined || left === Infinity ? null : left,
      enough: left === undefined ? null : left >= asked.minRemaining,
      age_seconds: Math.round((nowMs - Date.parse(of.fetched_at)) / 1000),
    };
  });
}

/** Undefined when it is not known; infinite for a window without a limit. */
function remainingPercent(window: LimitsWindowEnvelope, nowMs: number): number | undefined {
  if (window.state === "unlimited") return Infinity;
  if (window.resets_at !== null && Date.parse(window.resets_at) <= nowMs) return undefined;
  if (window.utilization !== null) return Math.round((1 - window.utilization) * 1e6) / 1e4;
  return undefined;
}

/** One checked limit in words. */
function spellChecked(
  { product, window, remaining_percent: left, enough }: LimitVerdict,
  { minRemaining }: Floor,
): string {
  const name = `${product}, ${window}`;
  if (enough === null) return `${name}: not known.`;
  if (left === null) return `${name}: unlimited.`;
  return `${name}: ${Math.floor(left * 10) / 10} % left, ${enough ? "enough" : `less than ${minRemaining} %`}.`;
}

function unknown(what: string, given: string, known: readonly string[]): MillraceError {
  return new MillraceError("invalid_request", `There is no ${what} ${JSON.stringify(given)}.`, {
    hint: `There are: ${known.join(", ")}.`,
  });
}
