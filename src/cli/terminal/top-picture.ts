import type { LimitsEnvelope } from "../../usage/envelope.ts";
import { spellAge } from "../doctor/spell.ts";
import type { ShownTurnLimit } from "../keys/turn-limit.ts";
import { wrapLine } from "./display-width.ts";
import type { Output } from "./output.ts";
import { type Column, printTable } from "./table.ts";
import type { Turn } from "./turn-list.ts";
import { limitsTable } from "./usage-table.ts";

/** The readings that `millrace top` shows, all of one moment. */
export interface TopReading {
  readonly atMs: number;
  readonly url: string;
  readonly paused: boolean;
  /** Where prompts go, or why they can go nowhere; undefined until the gateway has looked. */
  readonly backend: string | undefined;
  readonly running: number;
  readonly waiting: number;
  /** Lag of the event loop in the last seconds; undefined if it is not measured. */
  readonly lagSeconds: number | undefined;
  /** Since the gateway started. */
  readonly ended: number;
  readonly failed: number;
  readonly tokens: number;
  /** How many turns may run at the same time; undefined where the gateway is too old to say. */
  readonly turnLimit: ShownTurnLimit | undefined;
  /** Why the shared store may lose an answer, in sentences. */
  readonly storeWeak: readonly string[];
  readonly limits: LimitsEnvelope | undefined;
  /** The newest first. */
  readonly turns: readonly Turn[];
}

/** In place of where prompts go. */
export const unknownBackend = "not known yet: the gateway looks for an IDE";

type Screen = Pick<Output, "style" | "isTerminal" | "columns">;

const columns: readonly Column[] = [
  { title: "TURN", whole: true, drop: 3 },
  { title: "STATUS" },
  { title: "AGE", align: "right" },
  { title: "MODEL" },
  { title: "API", drop: 2 },
  { title: "CLIENT", drop: 1 },
];

/** One picture: the gateway, its work and rates, the plan, and the newest turns. No line is wider than the terminal. */
export function topPicture(now: TopReading, before: TopReading | undefined, out: Screen): readonly string[] {
  const plan =
    now.limits === undefined
      ? []
      : limitsTable(now.limits, out, {
          models: false,
          nowMs: now.atMs,
          formatInstant: (ms) => new Date(ms).toISOString(),
        });
  const head = [
    `${out.style("bold", "Millrace")}  ${now.url}${now.paused ? `  ${out.style("yellow", "PAUSED: no prompt is sent")}` : ""}`,
    `prompts go to  ${now.backend ?? unknownBackend}`,
    [
      `${now.running} running`,
      `${now.waiting} waiting`,
      `${now.ended} ended`,
      `${now.failed} failed`,
      ...rates(now, before),
    ].join(" · "),
  ];
  const lines = [...head, ...(plan.length > 0 ? ["", ...plan] : []), "", ...turnLines(now, out)];
  return out.isTerminal ? lines.flatMap((line) => wrapLine(line, out.columns)) : lines;
}

/** How fast it goes, measured between two readings. */
function rates(now: TopReading, before: TopReading | undefined): readonly string[] {
  const seconds = before === undefined ? 0 : (now.atMs - before.atMs) / 1000;
  const lag = now.lagSeconds === undefined ? [] : [`lag ${Math.round(now.lagSeconds * 1000)} ms`];
  if (before === undefined || seconds <= 0 || now.ended < before.ended) return lag; // another gateway answers now
  const perMinute = ((now.ended - before.ended) / seconds) * 60;
  const perSecond = (now.tokens - before.tokens) / seconds;
  return [`${perMinute.toFixed(0)} turns/min`, `${perSecond.toFixed(0)} tokens/s`, ...lag];
}

function turnLines({ turns, atMs }: TopReading, out: Screen): readonly string[] {
  if (turns.length === 0) return ["No turns yet."];
  const lines: string[] = [];
  const isOpen = ({ status }: Turn) => status === "running";
  const sorted = [...turns.filter(isOpen), ...turns.filter((turn) => !isOpen(turn))];
  const rows = sorted.map((turn) => {
    const age = spellAge(atMs - Date.parse(turn.created_at));
    return [turn.id, turn.status, age, turn.model, turn.dialect ?? "", turn.client ?? ""];
  });
  printTable(columns, rows, { ...screenOf(out), line: (text = "") => lines.push(text) });
  return lines;
}

function screenOf(out: Screen): Screen {
  return { style: (style, text) => out.style(style, text), isTerminal: out.isTerminal, columns: out.columns };
}
