import { isDeepStrictEqual } from "node:util";
import type { Clock } from "../../base/clock.ts";
import type { GatewayLog } from "../../gateway/http/log.ts";
import { type LineTarget, type LogLevel, logLevels } from "./log-lines.ts";

/** One line of the log, in the form for machines. */
export interface LogLine {
  readonly level: string;
  readonly atMs: number;
  readonly event: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** A log for people: one line for each turn, and sentences for problems. */
export function openPeopleLines(target: LineTarget, clock: Pick<Clock, "now">, level: LogLevel): GatewayLog {
  const least = logLevels.indexOf(level);
  return {
    write(lineLevel, event, fields) {
      if (logLevels.indexOf(lineLevel) < least) return;
      const line = peopleLine({ level: lineLevel, atMs: clock.now(), event, fields });
      if (line !== undefined) target.write(`${line}\n`);
    },
  };
}

/** The line for people; undefined if another line has the same facts (a request that began or joined a turn, an attach to a stream). */
export function peopleLine({ level, atMs, event, fields }: LogLine): string | undefined {
  if (event === "stream attach" && level !== "warn" && level !== "error") return undefined;
  const text =
    event === "request" ? spellRequest(fields) : event === "turn" ? spellTurn(fields) : spellEvent(event, fields);
  if (text === undefined) return undefined;
  const mark = level === "error" ? "error: " : level === "warn" && event !== "request" ? "warning: " : "";
  const { requestId } = fields;
  return `${spellTime(atMs)}  ${mark}${text}${typeof requestId === "string" ? `  ${requestId}` : ""}`;
}

type Fields = LogLine["fields"];

function spellTurn(fields: Fields): string {
  const { client, model, promptTokens, completionTokens, tokenSource, ms, outcome, reason } = fields;
  const mark = tokenSource === "estimated" ? "~" : "";
  const tokens =
    tokenSource === "unknown"
      ? "tokens unknown"
      : `${mark}${spellCount(promptTokens)} in ${mark}${spellCount(completionTokens)} out`;
  const ended = outcome === "finished" ? "done" : `${asText(outcome)}: ${asText(reason)}`;
  return [
    asText(client ?? "unknown").padEnd(14),
    asText(model).padEnd(20),
    tokens.padEnd(18),
    spellSeconds(ms).padStart(7),
    ended,
  ].join("  ");
}

/** Requests that were refused; the others have the line of their turn, or nothing worth one. */
function spellRequest(fields: Fields): string | undefined {
  const { status, turnId, client, caller, method, path, code, ms } = fields;
  if (typeof status !== "number" || status < 400) return undefined;
  if (turnId !== undefined && status < 500) return undefined;
  const who = asText(client ?? caller ?? "unknown").padEnd(14);
  return `${who}  ${asText(method)} ${asText(path)}  ${spellSeconds(ms)}  refused: ${status}${code === undefined ? "" : ` ${asText(code)}`}`;
}

const sentences: Readonly<Record<string, (fields: Fields) => string>> = {
  store_degraded: ({ why, hint }) => `The log of turns cannot be written: ${asText(why)} ${asText(hint)}`,
  store_healed: () => "The log of turns is written again.",
  store_damaged: ({ copy }) => `The log of turns was damaged. It is kept as ${asText(copy)}, and a new one was begun.`,
  usage_degraded: ({ why, hint }) => `The usage history cannot be written: ${asText(why)} ${asText(hint)}`,
  usage_healed: () => "The usage history is written again.",
  usage_set_aside: ({ copy }) =>
    `The usage history was damaged. It is kept as ${asText(copy)}, and a new one was begun.`,
  "usage not recorded": ({ error }) => `A turn is missing from the usage history: ${firstLine(error)}`,
  agent_models_unread: ({ agent, error }) => `The models of ${asText(agent)} could not be read: ${firstLine(error)}`,
  ide_found: ({ product, pid }) => `Found ${asText(product)}, process ${asText(pid)}.`,
  ide_lost: ({ product, pid }) => `${asText(product)}, process ${asText(pid)}, is gone.`,
  turn_run_failed: ({ turnId, error }) => `Turn ${asText(turnId)} failed: ${firstLine(error)}`,
  turn_adopt_failed: ({ turnId, error }) =>
    `Turn ${asText(turnId)} of an earlier gateway could not continue: ${firstLine(error)}`,
  turn_upkeep_failed: ({ error }) => `Old turns could not be cleaned up: ${firstLine(error)}`,
  "stream broke": ({ turnId, code }) => `The stream of turn ${asText(turnId)} broke: ${asText(code)}`,
};

function spellEvent(event: string, fields: Fields): string {
  const sentence = sentences[event];
  if (sentence !== undefined) return sentence(fields);
  const { requestId: _, ...others } = fields;
  const told = Object.entries(others).filter(([, value]) => value !== undefined && !isDeepStrictEqual(value, []));
  return [event.replaceAll("_", " "), ...told.map(([name, value]) => `${name}=${firstLine(value)}`)].join(" ");
}

function spellTime(atMs: number): string {
  return new Date(atMs).toLocaleTimeString("en-GB");
}

function spellCount(value: unknown): string {
  if (typeof value !== "number") return "?";
  return value < 1000 ? String(value) : value < 1e6 ? `${(value / 1000).toFixed(1)}k` : `${(value / 1e6).toFixed(1)}M`;
}

function spellSeconds(ms: unknown): string {
  return typeof ms === "number" ? `${(ms / 1000).toFixed(1)} s` : "";
}

function firstLine(value: unknown): string {
  return asText(value).split("\n", 1)[0] ?? "";
}

/** Without control characters: a client names itself. */
function asText(value: unknown): string {
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "");
  return text.replaceAll(/[\p{Cc}\p{Cf}]/gu, "?");
}
