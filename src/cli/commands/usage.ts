import { MillraceError } from "../../base/errors.ts";
import type { LimitsEnvelope } from "../../usage/envelope.ts";
import { spendDimensions } from "../../usage/history/history.ts";
import { durationInWords } from "../../usage/pace-words.ts";
import { parseSince } from "../../usage/since.ts";
import { type Command, type CommandContext, defineCommand } from "../command.ts";
import { checkLimits, exitCodeOf, type Floor, spellChecked } from "../limits/check-limits.ts";
import { readLimitsFile } from "../limits/limits-file.ts";
import type { LimitsSource, OpenLimitsSource } from "../limits/limits-source.ts";
import { choice, duration, flag, ideChoice, integer, text } from "../options.ts";
import { outlines } from "../outlines.ts";
import { csv } from "../terminal/csv.ts";
import { wrapLine } from "../terminal/display-width.ts";
import { elsewhereTable, spendTable } from "../terminal/spend-table.ts";
import { limitsTable } from "../terminal/usage-table.ts";
import { watchScreen } from "../terminal/watch-screen.ts";

const watchEveryMs = 5_000;

interface UsageOptions {
  readonly json: boolean;
  readonly csv: boolean;
  readonly watch: boolean;
  readonly models: boolean;
  readonly since: string | undefined;
  readonly ide: string | undefined;
  readonly by: (typeof spendDimensions)[number] | undefined;
}

/** `millrace usage`: the rest of the plan and whether it lasts; with `--since` or `--by`, who used it. */
export function usageCommand(openSource: OpenLimitsSource): Command {
  return defineCommand({
    ...outlines.usage,
    description:
      "Shows the limits of every running IDE, when each resets, and whether it lasts until then. The tick in a bar marks an even pace. With --since or --by it shows what the gateway's turns used. `~` marks numbers that are partly estimated. With --min-remaining it is a check for scripts: it exits with 0 if every limit has that share left, with 1 if one has less, with 75 if the reading is older than --max-age, with 69 if nothing is known, and with 64 if there is no such limit.",
    options: {
      since: text("show the use since this time: 7d, 36h, 2w, 2026-11-01", "<time>"),
      by: choice("sum the use by", spendDimensions, undefined, { defaultText: "model" }),
      models: flag("also show the limits of single models"),
      watch: flag("refresh every five seconds"),
      ide: ideChoice("only this IDE", ["devin", "devin-next", "antigravity"]),
      minRemaining: integer("check that this share is left, in percent, as an exit code", "<percent>", {
        min: 0,
        max: 100,
        initial: undefined,
      }),
      window: text("with --min-remaining: check only this limit, by its name in --json, such as weekly", "<id>"),
      maxAge: duration("with --min-remaining: refuse a reading that is older than this", undefined, {
        defaultText: "the reading's own time to expire",
      }),
      csv: flag("print CSV"),
      json: flag("print JSON, as GET /v1/limits and GET /v1/usage"),
    },
    examples: [
      ["millrace usage", "what is left now"],
      ["millrace usage --since 7d --by project", "what each project cost this week"],
      ["millrace usage --since 30d --by day --csv", "for a spreadsheet"],
      ["millrace usage --min-remaining 15 --window weekly && ./nightly.sh", "run the script only if 15 % are left"],
    ],
    async run({ options }, context) {
      checkOptions(options, context);
      if (options.watch) return watch(options, openSource, context);
      const source = await openSource(context);
      try {
        if (options.minRemaining !== undefined)
          return guard(
            { ...options, minRemaining: options.minRemaining },
            await source.limits(context.signal),
            context,
          );
        if (options.since !== undefined || options.by !== undefined) await report(options, source, context);
        else show(options, await limitsOf(source, context, !options.json && !options.csv, options.ide), context);
      } finally {
        source.close();
      }
    },
  });
}

function checkOptions(options: UsageOptions, { out }: CommandContext): void {
  const clash = (message: string, hint: string) => new MillraceError("invalid_request", message, { hint });
  if (options.json && options.csv) throw clash("Use either --json or --csv.", "Give one of them.");
  if (!options.watch) return;
  if (options.since !== undefined || options.by !== undefined)
    throw clash("--watch cannot be used with --since or --by.", "Leave --watch out.");
  if (options.json || options.csv || !out.canRedraw)
    throw clash("--watch needs a terminal.", "Run `millrace usage --json` repeatedly instead.");
}

function guard(options: Floor & { readonly json: boolean }, limits: LimitsEnvelope, { out }: CommandContext): number {
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
  const noted = takesOld ? readLimitsFile(settings.folder)?.data : undefined;
  if (noted !== undefined && noted.length > 0) return { ...limits, data: noted.map((of) => ({ ...of, stale: true })) };
  if (error === undefined)
    throw new MillraceError("ide_not_running", "No IDE answered, so there are no limits to show.");
  const hint =
    error.code === "ide_not_running"
      ? "Start Devin Desktop and open a folder. `millrace doctor` shows where Millrace looked."
      : error.hint;
  throw MillraceError.fromRecord({ ...error, hint, code: error.code as MillraceError["code"] }); // codes are ours
}

function onlyOf(limits: LimitsEnvelope, ide: string | undefined): LimitsEnvelope {
  return ide === undefined ? limits : { ...limits, data: limits.data.filter((of) => of.ide === ide) };
}

function show(options: UsageOptions, limits: LimitsEnvelope, context: CommandContext): void {
  const { out, io } = context;
  if (options.json) out.json(limits);
  else if (options.csv) out.write(limitsCsv(limits));
  else {
    const nowMs = io.clock.now();
    for (const line of limitsTable(limits, out, { models: options.models, nowMs, formatInstant })) out.line(line);
    for (const line of wrongWith(limits, nowMs)) out.note(line);
  }
}

/** Limits and their errors, as lines of the terminal's width. */
function picture(options: UsageOptions, limits: LimitsEnvelope, { out, io }: CommandContext): readonly string[] {
  const nowMs = io.clock.now();
  const table = limitsTable(limits, out, { models: options.models, nowMs, formatInstant });
  const errors = wrongWith(limits, nowMs);
  return [...table, ...(errors.length === 0 ? [] : [""]), ...errors.flatMap((line) => wrapLine(line, out.columns))];
}

/** Why nothing newer could be read, and how old the numbers are. */
function wrongWith(limits: LimitsEnvelope, nowMs: number): readonly string[] {
  const old = limits.data.filter(({ stale }) => stale && limits.errors.length > 0);
  return [
    ...limits.errors.map((error) => `${error.ide ?? "limits"}: ${error.message} ${error.hint}`),
    ...old.map((of) => {
      const age = durationInWords(nowMs - Date.parse(of.fetched_at));
      return `${of.product || of.ide} does not answer: its limits were read ${age === "now" ? "just now" : `${age} ago, and may have changed since`}.`;
    }),
  ];
}

/** A source that fails is opened anew: the gateway may have come back elsewhere. */
async function watch(options: UsageOptions, openSource: OpenLimitsSource, context: CommandContext): Promise<void> {
  let source: LimitsSource | undefined;
  const read = async () => {
    source ??= await openSource(context);
    try {
      return await limitsOf(source, context, true, options.ide);
    } catch (error) {
      source.close();
      source = undefined;
      throw error;
    }
  };
  try {
    await watchScreen({ read, draw: (limits) => picture(options, limits, context), everyMs: watchEveryMs }, context);
  } finally {
    source?.close();
  }
}

async function report(options: UsageOptions, source: LimitsSource, context: CommandContext): Promise<void> {
  const { out, io, signal } = context;
  const sinceMs = parseSince(options.since ?? "30d", io.clock.now(), "--since");
  const timeZone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const usage = await source.usage({ sinceMs, by: options.by ?? "model", timeZone }, signal);
  if (options.json) return out.json(usage);
  if (options.csv) return out.write(csv(usage.data, Object.keys(usage.data[0] ?? { key: null })));
  const elsewhere = elsewhereTable(usage, out);
  if (usage.data.length === 0) {
    out.line(`No turn ended since ${formatInstant(sinceMs)}.`);
    if (elsewhere.length === 0) out.note("No turns yet. Run `millrace serve` and use the gateway from a tool.");
  } else for (const line of spendTable(usage, out)) out.line(line);
  if (elsewhere.length > 0) out.line("");
  for (const line of elsewhere) out.line(line);
}

function limitsCsv(limits: LimitsEnvelope): string {
  const rows = limits.data.flatMap((of) =>
    of.windows.map(({ pace, ...window }) => ({
      ide: of.ide,
      plan: of.plan_name,
      fetched_at: of.fetched_at,
      stale: of.stale,
      ...window,
      verdict: pace?.verdict ?? null,
      runs_out_at: pace?.runs_out_at ?? null,
    })),
  );
  return csv(rows, Object.keys(rows[0] ?? { ide: null }));
}

/** `22 Nov 14:20`, in the reader's time zone. */
function formatInstant(atMs: number): string {
  const text = new Date(atMs).toLocaleString("en-GB", {
    day: "numeric",
    month: "short",
    hour: "2-digit",
    minute: "2-digit",
  });
  return text.replace(",", "");
}
