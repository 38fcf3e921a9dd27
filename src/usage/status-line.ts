import { MillraceError } from "../base/errors.ts";
import { ideNames, variantOf } from "../base/ide-name.ts";
import { shortProductNames } from "../language-server/product-name.ts";
import type { LimitsEnvelope, LimitsOfIde, LimitsWindowEnvelope } from "./envelope.ts";
import { percentLeft } from "./limits.ts";
import { durationInWords } from "./pace-words.ts";
import { toneOf } from "./window-words.ts";

/** The programs that show the line; each needs its own colours or format. */
export const statusLineFormats = [
  "plain",
  "claude-code",
  "tmux",
  "starship",
  "swiftbar",
  "xbar",
  "waybar",
  "polybar",
] as const;
export type StatusLineFormat = (typeof statusLineFormats)[number];

export interface StatusLineOptions {
  readonly format: StatusLineFormat;
  /** `{percent_left} {resets_in}` and the like, filled in for the window that is nearest to its end. */
  readonly template: string | undefined;
  /** Only this IDE or window; all of the plan otherwise. */
  readonly ide: string | undefined;
  readonly window: string | undefined;
}

type Mood = "good" | "warn" | "bad" | "unknown";
interface Entry {
  readonly of: LimitsOfIde;
  readonly window: LimitsWindowEnvelope;
  readonly mood: Mood;
}

function shortName(of: LimitsOfIde): string {
  return shortProductNames[variantOf(of.ide) ?? "windsurf"]; // the word is our own
}

/**
 * The limits as one line (two and more for SwiftBar and xbar, whose further lines are the menu). Pure, and light: it loads nothing
 * that a status bar would have to wait for. Instants in the envelope are ISO; `nowMs` is epoch ms.
 *
 * @returns an empty text when nothing is known.
 * @throws MillraceError `invalid_request` for a placeholder, an IDE or a limit that does not exist.
 */
export function statusLine(limits: LimitsEnvelope, options: StatusLineOptions, nowMs: number): string {
  refuseUnknown(limits, options);
  const entries = entriesOf(limits, options, nowMs);
  if (entries.length === 0)
    return options.format === "waybar" ? waybar("", "No reading yet", "unknown", undefined) : "";
  const worst = entries.toSorted((a, b) => urgency(b) - urgency(a))[0];
  const paint = painters[options.format];
  const text =
    options.template === undefined || worst === undefined
      ? lineOf(entries, worst, nowMs, paint)
      : paint(fill(options.template, worst, nowMs), worst.mood);
  if (options.format === "swiftbar" || options.format === "xbar")
    return [text, "---", ...entries.map((entry) => menuLine(entry, nowMs))].join("\n");
  if (options.format !== "waybar") return text;
  const tooltip = entries.map((entry) => menuText(entry, nowMs)).join("\n");
  return waybar(text, tooltip, worst?.mood ?? "unknown", worst?.window.utilization ?? undefined);
}

/** An IDE that is none; a limit that none of those that were read has. One that merely does not run is no mistake. */
function refuseUnknown(limits: LimitsEnvelope, { ide, window }: StatusLineOptions): void {
  if (ide !== undefined && variantOf(ide) === undefined) {
    throw new MillraceError("invalid_request", `There is no IDE ${JSON.stringify(ide)}.`, {
      hint: `There are: ${ideNames.join(", ")}.`,
    });
  }
  const read = limits.data.filter((of) => ide === undefined || of.ide === ide);
  const known = new Set(read.flatMap((of) => of.windows.map(({ id }) => id)));
  if (window === undefined || known.size === 0 || known.has(window)) return;
  throw new MillraceError("invalid_request", `There is no limit ${JSON.stringify(window)}.`, {
    hint: `There are: ${[...known].join(", ")}.`,
  });
}

/** The windows of a plan or pool that can run out; of single models only the one that is asked for. */
function entriesOf(limits: LimitsEnvelope, options: StatusLineOptions, nowMs: number): readonly Entry[] {
  return limits.data
    .filter((of) => options.ide === undefined || of.ide === options.ide)
    .flatMap((of) =>
      of.windows
        .filter((window) =>
          options.window === undefined
            ? window.kind === "consumption" && window.scope !== "model"
            : window.id === options.window,
        )
        .map((window) => ({ of, window, mood: moodOf(window, nowMs) })),
    );
}

function isOver(window: LimitsWindowEnvelope, nowMs: number): boolean {
  return window.resets_at !== null && Date.parse(window.resets_at) <= nowMs;
}

function moodOf(window: LimitsWindowEnvelope, nowMs: number): Mood {
  if (window.state === "unlimited") return "good";
  if (window.state === "unknown" || isOver(window, nowMs)) return "unknown";
  const tone = toneOf(window);
  return tone === "plain" ? "good" : tone;
}

function urgency({ window, mood }: Entry): number {
  return { bad: 300, warn: 200, good: 100, unknown: 0 }[mood] + (window.utilization ?? 0);
}

/** Every limit; the one that is nearest to its end with the time of that end. A reading that is not fresh has its age. */
function lineOf(entries: readonly Entry[], worst: Entry | undefined, nowMs: number, paint: Paint): string {
  const byIde = Map.groupBy(entries, ({ of }) => of);
  return [...byIde]
    .map(([of, ofIde]) => {
      const windows = ofIde.map((entry) =>
        paint(
          `${nameOf(entry.window)} ${leftOf(entry, nowMs)}${entry === worst ? endOf(entry, nowMs) : ""}`,
          entry.mood,
        ),
      );
      const age = durationInWords(nowMs - Date.parse(of.fetched_at));
      return `${shortName(of)}${of.stale && age !== "now" ? ` (read ${age} ago)` : ""} ${windows.join(" · ")}`;
    })
    .join("  ");
}

/** When a limit is used up at this pace, else when it resets. */
function endOf({ window, mood }: Entry, nowMs: number): string {
  if (mood === "unknown" || window.state === "unlimited") return "";
  const { pace, resets_at: resetsAt } = window;
  const end = pace?.verdict === "runs_out" ? pace.runs_out_at : null;
  const at = end ?? resetsAt;
  return at === null ? "" : ` ${end === null ? "resets" : "runs out"} in ${durationInWords(Date.parse(at) - nowMs)}`;
}

/** `weekly`, `credits`, `gemini 5h`: the id is short and stable, the label is for tables. */
function nameOf(window: LimitsWindowEnvelope): string {
  return window.id.replace("prompt-credits", "credits").replace("flex-credits", "flex").replace("-", " ");
}

function leftOf({ window, mood }: Entry, nowMs: number): string {
  if (window.state === "unlimited") return "∞";
  if (window.state === "unknown" || isOver(window, nowMs)) return "?";
  if (window.kind === "balance") return `${window.remaining ?? "?"} ${window.unit}`;
  const counts = window.unit === "credits" || window.unit === "messages";
  const left = counts ? `${Math.floor(window.remaining ?? 0)}` : `${spellLeft(window)}%`;
  return mood === "bad" || mood === "warn" ? `${left}!` : left;
}

function spellLeft({ utilization }: LimitsWindowEnvelope): string {
  return utilization === null ? "?" : String(percentLeft(utilization));
}

const placeholders: Readonly<Record<string, (entry: Entry, nowMs: number) => string>> = {
  ide: ({ of }) => of.ide,
  product: ({ of }) => of.product || of.ide,
  plan: ({ of }) => of.plan_name ?? "",
  source: ({ of }) => (of.source === "saved_plan" ? "saved plan" : "language server"),
  read_at: ({ of }) => of.fetched_at,
  window: ({ window }) => window.id,
  label: ({ window }) => window.label,
  left: (entry, nowMs) => leftOf(entry, nowMs),
  percent_left: ({ window }) => spellLeft(window),
  percent_used: ({ window }) => (window.utilization === null ? "?" : `${100 - percentLeft(window.utilization)}`),
  remaining: ({ window }) => `${window.remaining ?? "?"}`,
  limit: ({ window }) => `${window.limit ?? "?"}`,
  resets_in: ({ window }, nowMs) =>
    window.resets_at === null ? "?" : durationInWords(Date.parse(window.resets_at) - nowMs),
  verdict: ({ window }) => window.pace?.verdict ?? "",
  stale: ({ of }) => (of.stale ? "~" : ""),
};

function fill(template: string, entry: Entry, nowMs: number): string {
  return template.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const placeholder = Object.hasOwn(placeholders, name) ? placeholders[name] : undefined;
    if (placeholder !== undefined) return placeholder(entry, nowMs);
    throw new MillraceError("invalid_request", `The template has an unknown placeholder {${name}}.`, {
      hint: `There are ${Object.keys(placeholders)
        .map((known) => `{${known}}`)
        .join(", ")}.`,
    });
  });
}

type Paint = (text: string, mood: Mood) => string;
const ansi: Readonly<Record<Mood, string>> = { good: "32", warn: "33", bad: "31", unknown: "2" };
const tmuxColours: Readonly<Record<Mood, string>> = { good: "green", warn: "yellow", bad: "red", unknown: "colour244" };
const barColours: Readonly<Record<Mood, string>> = {
  good: "#2f9f77",
  warn: "#d19a2e",
  bad: "#e0645b",
  unknown: "#808080",
};
const bare: Paint = (text) => text;
const painters: Readonly<Record<StatusLineFormat, Paint>> = {
  plain: bare,
  starship: bare,
  waybar: bare,
  // SwiftBar and xbar read what follows a bar in a line as parameters.
  swiftbar: (text) => text.replaceAll("|", "/"),
  xbar: (text) => text.replaceAll("|", "/"),
  // Source: Polybar's wiki, "Formatting". A tag begins with %{ and nothing escapes it.
  polybar: (text, mood) => `%{F${barColours[mood]}}${text.replaceAll("%{", "% {")}%{F-}`,
  "claude-code": (text, mood) => `\u001B[${ansi[mood]}m${text}\u001B[0m`,
  // tmux expands what a # begins; a doubled one is itself.
  tmux: (text, mood) => `#[fg=${tmuxColours[mood]}]${text.replaceAll("#", "##")}#[default]`,
};

function menuText(entry: Entry, nowMs: number): string {
  const { of, window } = entry;
  const reset = window.resets_at === null ? "" : `, resets in ${durationInWords(Date.parse(window.resets_at) - nowMs)}`;
  const saved = of.source === "saved_plan" ? ` (saved plan, read at ${of.fetched_at})` : "";
  return `${shortName(of)}, ${window.label}: ${leftOf(entry, nowMs)} left${reset}${saved}`;
}

function menuLine(entry: Entry, nowMs: number): string {
  return `${menuText(entry, nowMs).replaceAll("|", "/")} | color=${barColours[entry.mood]}`;
}

function waybar(text: string, tooltip: string, mood: Mood, utilization: number | undefined): string {
  const percentage = utilization === undefined ? {} : { percentage: percentLeft(utilization) };
  return JSON.stringify({ text: escapeMarkup(text), tooltip: escapeMarkup(tooltip), class: mood, ...percentage });
}

/** Waybar reads Pango markup. */
function escapeMarkup(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
