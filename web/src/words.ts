import { defaultHints, type ErrorCode, requestMistakes } from "../../src/base/errors.ts";
import { productOfIde } from "../../src/base/ide-name.ts";
import type { LimitsWindowEnvelope, UsageEnvelope } from "../../src/usage/envelope.ts";
import { durationInWords, paceFromJson, paceInWords } from "../../src/usage/pace-words.ts";
import { amountInWords as windowInWords } from "../../src/usage/window-words.ts";

/** `22 Nov, 14:20`: the day as the browser's language writes it, the time by the clock of 24 hours. */
export function instantInWords(atMs: number): string {
  return new Date(atMs).toLocaleString(undefined, {
    day: "numeric",
    month: "short",
    hour: "2-digit",
    minute: "2-digit",
    hourCycle: "h23",
  });
}

/** The same with its year and seconds: what stands under the pointer. */
export function exactInWords(atMs: number): string {
  return new Date(atMs).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "medium", hourCycle: "h23" });
}

/** `10:14:35` of today, `22 Nov, 14:20` of another day. */
export function clockInWords(atMs: number): string {
  const at = new Date(atMs);
  return at.toDateString() === new Date().toDateString()
    ? at.toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" })
    : instantInWords(atMs);
}

/** What a turn's model is called: the same on every part of the page. */
export function modelName({ model_name }: { readonly model_name: string }): string {
  return model_name;
}

/** `12.3K`: a count where space is short. */
export function shortCount(value: number): string {
  return value.toLocaleString(undefined, { notation: "compact", maximumFractionDigits: 1 });
}

export function count(value: number): string {
  return value.toLocaleString(undefined, { maximumFractionDigits: 1 });
}

const dollars = (value: number) => value.toLocaleString(undefined, { style: "currency", currency: "USD" });

/** What is left of a window or used of it, in its own unit. */
export function amountInWords(window: LimitsWindowEnvelope): string {
  return windowInWords(window, { count, dollars });
}

/** `in 2 d 3 h`, `4 min ago`, `just now`: the one form of every instant on the page. Its absolute time stands beside it as a title. */
export function whenInWords(atMs: number, nowMs: number): string {
  if (atMs > nowMs) return `in ${durationInWords(Math.max(60_000, atMs - nowMs))}`;
  const age = durationInWords(nowMs - atMs);
  return age === "now" ? "just now" : `${age} ago`;
}

export function resetInWords(window: LimitsWindowEnvelope, nowMs: number): string {
  if (window.resets_at === null) return "";
  const atMs = Date.parse(window.resets_at);
  return atMs <= nowMs ? "has reset" : `resets ${whenInWords(atMs, nowMs)}`;
}

export function verdictInWords(window: LimitsWindowEnvelope, nowMs: number): string {
  const { pace } = window;
  if (pace === null || pace.reason === "no_reset" || window.state !== "metered") return "";
  return paceInWords(paceFromJson(pace), (atMs) => momentInWords(atMs, nowMs));
}

/** `14:20`, `Thursday 14:20`, or `22 Nov, 14:20` where that is a week away. */
function momentInWords(atMs: number, nowMs: number): string {
  const at = new Date(atMs);
  if (atMs - nowMs > 6 * 86_400_000) return instantInWords(atMs);
  const isToday = at.toDateString() === new Date(nowMs).toDateString();
  const clock = { hour: "2-digit", minute: "2-digit", hourCycle: "h23" } as const;
  return at.toLocaleString(undefined, isToday ? clock : { weekday: "long", ...clock });
}

/** `3.2 s`, `4 min 10 s`: how long something takes or took. */
export function spanInWords(ms: number): string {
  if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.floor(ms / 1000);
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  return durationInWords(ms);
}

/** `0 s`, `4 min 10 s`: how long something runs, in whole seconds that are calm to watch. */
export function ageInWords(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  return seconds < 60 ? `${seconds} s` : spanInWords(seconds * 1000);
}

/** `1:20`, `1:02:03`: a time that runs down. */
export function timerInWords(ms: number): string {
  const seconds = Math.max(0, Math.ceil(ms / 1000));
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor((seconds % 3600) / 60)];
  const parts = hours > 0 ? [hours, String(minutes).padStart(2, "0")] : [minutes];
  return [...parts, String(seconds % 60).padStart(2, "0")].join(":");
}

/** The last part of a folder's path. */
export function folderOf(project: string | null): string | undefined {
  return project?.split(/[\\/]/).findLast((part) => part !== "");
}

const reasons: Readonly<Record<string, string>> = {
  client: "by the client",
  abandoned: "no client was connected",
  superseded: "replaced by a newer request",
  shutdown: "the gateway stopped",
  ide: "the IDE stopped it",
};

/** Why a turn ended: an error's code, or who cancelled. */
export function reasonInWords(reason: string | null): string {
  return reasons[reason ?? ""] ?? (reason ?? "").replaceAll("_", " ");
}

export type TurnEnd = "finished" | "failed" | "cancelled";

/** How a turn ended, and why if not by itself. */
export function endInWords(status: TurnEnd, reason: string | null): string {
  return status === "finished" ? status : `${status}: ${reasonInWords(reason)}`;
}

/** Whether a turn failed by its own request. */
export function isMistake(reason: string | null): boolean {
  return requestMistakes.some((code) => code === reason);
}

/** What to do about a failure of which only the code is known. */
export function hintFor(code: string): string {
  return Object.hasOwn(defaultHints, code) ? defaultHints[code as ErrorCode] : ""; // the check before says that it is one
}

/** What a row of the use is called; of a folder its last part. */
export function groupKeyOf(spend: { readonly name: string | null }, by: string): string {
  if (spend.name === null) return "unknown";
  return by === "project" ? (spend.name.split(/[\\/]/).findLast((part) => part !== "") ?? spend.name) : spend.name;
}

/** What the plan lost in a time, and how much of it outside Millrace. */
export function outsideInWords(use: UsageEnvelope["used_outside"][number]): string {
  const [unit, were] = use.unit === "percent" ? [" %", "was"] : [` ${use.unit}`, "were"];
  const lost = `${count(use.lost)}${unit} of the plan of ${productOfIde(use.ide)} ${were} used in this time`;
  if (use.used_outside === null) return `${lost}. Millrace cannot tell how much of that went through it.`;
  if (use.used_outside === 0) return use.bound === "at_least" ? `${lost}.` : `${lost}, all of it through Millrace.`;
  const bound = { exact: "", at_most: "at most ", at_least: "at least ", unknown: "" }[use.bound];
  return `${lost}, ${bound}${count(use.used_outside)}${unit} of it outside Millrace.`;
}
