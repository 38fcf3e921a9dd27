import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { BackendLifecycle } from "../../backends/lifecycle.ts";
import type { Clock } from "../../base/clock.ts";
import type { EventSource } from "../../base/emitter.ts";
import { ideName } from "../../base/ide-name.ts";
import { writeJson } from "../../base/json.ts";
import type { GatewayLog } from "../../gateway/http/log.ts";
import type { Ide } from "../../ide/ide.ts";
import type { IdeLifecycle } from "../../ide/lifecycle.ts";
import type { StoreLifecycle } from "../../log/lifecycle.ts";
import type { ModelLifecycle } from "../../models/lifecycle.ts";
import type { TurnLifecycle } from "../../turns/lifecycle.ts";
import type { FinishedTurn } from "../../usage/history/finished-turn.ts";
import type { UsageLifecycle } from "../../usage/lifecycle.ts";
import type { Settings } from "../settings.ts";
import { visible } from "../terminal/foreign-text.ts";
import type { Io } from "../terminal/output.ts";
import { startedBy } from "./background.ts";
import { openRotatedFile } from "./rotated-file.ts";

/** Writes the log lines of the gateway's life. `store` and `file` name where turns and the usage history are kept. */
export function logLifecycle(
  events: EventSource<GatewayLifecycle>,
  log: GatewayLog,
  { store, file }: { readonly store: string | undefined; readonly file: string | undefined },
): void {
  events.on("turn_problem", ({ event, turnId, error }) => log.write("warn", event, { turnId, error: describe(error) }));
  events.on("ide_read", ({ turnId, ideTools }) => log.write("info", "the IDE's agent read", { turnId, ideTools }));
  events.on("turn_ended", (turn) => log.write("info", "turn", counted(turn)));
  events.on("store_failed", ({ error: { message: why, hint } }) =>
    log.write("error", "store_degraded", { store, why, hint }),
  );
  events.on("store_recovered", () => log.write("info", "store_healed", { store }));
  events.on("store_damaged", ({ copy }) => log.write("error", "store_damaged", { store, copy }));
  events.on("history_failed", ({ error: { message: why, hint } }) =>
    log.write("error", "usage_degraded", { file, why, hint }),
  );
  events.on("history_recovered", () => log.write("info", "usage_healed", { file }));
  events.on("history_set_aside", ({ copy }) => log.write("warn", "usage_set_aside", { file, copy }));
  events.on("usage_unrecorded", ({ error }) => log.write("warn", "usage not recorded", { error: String(error) }));
  events.on("agent_models_unread", ({ agent, error }) =>
    log.write("warn", "agent_models_unread", { agent, error: describe(error) }),
  );
  events.on("agent_hostless", ({ agent, why }) => log.write("warn", "agent_hostless", { agent, why }));
  events.on("ide_found", (ide) => log.write("info", "ide_found", named(ide)));
  events.on("ide_lost", (ide) => log.write("info", "ide_lost", named(ide)));
}

function named({ product, variant, build, pid }: Ide): Readonly<Record<string, unknown>> {
  return { product, variant: ideName(variant), build, pid };
}

/** Names and counts of a turn that ended. */
function counted(turn: FinishedTurn): Readonly<Record<string, unknown>> {
  const { turnId, client, model, modelName, dialect, promptTokens, completionTokens, tokenSource, outcome, reason } =
    turn;
  const ms = turn.endedAtMs - turn.startedAtMs;
  return {
    turnId,
    client,
    model: modelName ?? model,
    dialect,
    promptTokens,
    completionTokens,
    tokenSource,
    ms,
    outcome,
    reason,
  };
}

function describe(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

/** All events of a gateway's life. `compose.ts` makes the one source of them. */
export interface GatewayLifecycle
  extends TurnLifecycle,
    StoreLifecycle,
    UsageLifecycle,
    IdeLifecycle,
    ModelLifecycle,
    BackendLifecycle {}

/** Where a gateway without a terminal writes its log. */
export function defaultLogFile({ folder }: Pick<Settings, "folder">): string {
  return join(folder, "logs", "gateway.log");
}

/**
 * The log of `serve`: lines for people on a terminal, JSON elsewhere. It goes into a rotated file if the gateway runs in
 * the background or as a service. The level is `info`, but `warn` for JSON on stderr.
 */
export function openGatewayLog(
  io: Pick<Io, "stderr" | "env" | "clock">,
  settings: Pick<Settings, "folder">,
  logLevel: LogLevel | undefined,
): GatewayLog {
  const file = startedBy(io.env) === "terminal" ? undefined : defaultLogFile(settings);
  const screen = { write: (line: string) => io.stderr.write(visible(line)) };
  const rotated =
    file === undefined
      ? undefined
      : openRotatedFile(file, {
          onProblem: (why) => screen.write(`warning: ${why} Log lines are lost until it can.\n`),
        });
  const target = rotated ?? screen;
  const isForPeople = file === undefined && io.stderr.isTTY === true;
  const usual = isForPeople || file !== undefined ? "info" : "warn";
  const level = logLevel ?? usual;
  const log = withRequestIds(
    isForPeople ? openPeopleLines(target, io.clock, level) : openLogLines({ stderr: target, clock: io.clock }, level),
  );
  return rotated === undefined ? log : { ...log, problem: () => rotated.problem };
}

const mostTurns = 10_000;

/** Adds the id of the request that began a turn to the lines that name only the turn. */
export function withRequestIds(log: GatewayLog): GatewayLog {
  const requests = new Map<string, unknown>();
  return {
    write(level, event, fields) {
      const { turnId, requestId } = fields;
      if (typeof turnId !== "string") return log.write(level, event, fields);
      if (requestId === undefined) return log.write(level, event, { requestId: requests.get(turnId), ...fields });
      if (!requests.has(turnId)) requests.set(turnId, requestId);
      if (requests.size > mostTurns) requests.delete(requests.keys().next().value ?? "");
      log.write(level, event, fields);
    },
  };
}

export const logLevels = ["debug", "info", "warn", "error", "silent"] as const;
export type LogLevel = (typeof logLevels)[number];

/** Takes whole lines. */
interface LineTarget {
  write(line: string): unknown;
}

/** JSON lines on stderr: level, time, event name and plain fields. Callers pass no prompt, answer or secret. */
export function openLogLines(
  { stderr, clock }: { readonly stderr: LineTarget; readonly clock: Pick<Clock, "now"> },
  least: LogLevel,
): GatewayLog {
  return fromLevel(least, (level, event, fields) =>
    stderr.write(`${writeJson({ level, time: new Date(clock.now()).toISOString(), ...fields, event })}\n`),
  );
}

function fromLevel(least: LogLevel, write: (...line: Parameters<GatewayLog["write"]>) => void): GatewayLog {
  return {
    write(...line) {
      if (logLevels.indexOf(line[0]) >= logLevels.indexOf(least)) write(...line);
    },
  };
}

/** One line of the log, in the form for machines. */
interface LogLine {
  readonly level: string;
  readonly atMs: number;
  readonly event: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** A log for people: one line for each turn, and sentences for problems. */
function openPeopleLines(target: LineTarget, clock: Pick<Clock, "now">, least: LogLevel): GatewayLog {
  return fromLevel(least, (level, event, fields) => {
    const line = peopleLine({ level, atMs: clock.now(), event, fields });
    if (line !== undefined) target.write(`${line}\n`);
  });
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
  agent_hostless: ({ agent, why }) =>
    `The agent ${asText(agent)} ends with this gateway, and its answers too, because its host did not start: ${asText(why)}`,
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
  const text = typeof value === "string" ? value : (writeJson(value) ?? "");
  return text.replaceAll(/[\p{Cc}\p{Cf}]/gu, "?");
}
