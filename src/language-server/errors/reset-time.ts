import { unitMs } from "../../base/clock.ts";

/** When a limit ends: how long from now, and at which epoch ms. */
export interface ResetTime {
  readonly retryAfterMs: number;
  readonly resetsAtMs: number;
}

/**
 * Finds in a limit's text when it ends: a Go duration (`Resets in: 3h0m0s`), words (`try again in 5 minutes`), or an
 * RFC 3339 instant (`reset at 2026-02-26T15:23:41Z`). Source: docs/dev/wire/language-server.md, "Error texts".
 */
export function parseResetTime(text: string, nowMs: number): ResetTime | undefined {
  const instant = /\b(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:Z|[+-]\d{2}:\d{2}))/.exec(text)?.[1];
  if (instant !== undefined) return fromInstant(Date.parse(instant), nowMs);
  const tail = /\b(?:reset(?:s|ting)?|retry|again|available)\b[^\d]{0,30}?\b(?:in|after)\b[:\s]*(\d.*)$/is.exec(
    text,
  )?.[1];
  return tail === undefined ? undefined : fromDelay(durationMs(tail), nowMs);
}

/** The same from a `retry-after` header: seconds, or an HTTP date. */
export function parseRetryAfter(value: string, nowMs: number): ResetTime | undefined {
  const seconds = Number(value);
  return Number.isFinite(seconds) && value.trim() !== ""
    ? fromDelay(seconds * 1000, nowMs)
    : fromInstant(Date.parse(value), nowMs);
}

function durationMs(text: string): number {
  const part =
    /^[\s,]*(?:and\s+)?(\d{1,9}(?:\.\d{1,9})?)\s*(ms|milliseconds?|s(?:ec(?:ond)?s?)?|m(?:in(?:ute)?s?)?|h(?:(?:ou)?rs?)?|d(?:ays?)?)(?![a-z])/i;
  let rest = text;
  let total = Number.NaN;
  for (let match = part.exec(rest); match !== null; match = part.exec(rest)) {
    const unit = (match[2] ?? "").toLowerCase();
    const ms = unitMs[unit.startsWith("ms") || unit.startsWith("mil") ? "ms" : unit.charAt(0)] ?? 0;
    total = (Number.isNaN(total) ? 0 : total) + Number(match[1]) * ms;
    rest = rest.slice(match[0].length);
  }
  return total;
}

function fromInstant(atMs: number, nowMs: number): ResetTime | undefined {
  return Number.isNaN(atMs) ? undefined : { retryAfterMs: Math.max(0, atMs - nowMs), resetsAtMs: atMs };
}

function fromDelay(delayMs: number, nowMs: number): ResetTime | undefined {
  return Number.isNaN(delayMs) || delayMs < 0
    ? undefined
    : { retryAfterMs: Math.round(delayMs), resetsAtMs: Math.round(nowMs + delayMs) };
}
