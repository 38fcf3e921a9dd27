import type { TurnRowEnvelope } from "../../src/usage/turn-page-envelope.ts";

const header = [
  "id",
  "created_at",
  "ended_at",
  "client",
  "project",
  "model",
  "model_name",
  "api",
  "tokens_in",
  "tokens_out",
  "tokens_estimated",
  "credits",
  "credits_estimated",
  "first_token_ms",
  "duration_ms",
  "status",
  "reason",
] as const;

/** Turns as CSV with a header; what is not known is empty. */
export function csvOf(turns: readonly TurnRowEnvelope[]): string {
  const lines = turns.map((turn) => {
    const { tokens } = turn;
    const flat = {
      ...turn,
      tokens_in: tokens?.in ?? null,
      tokens_out: tokens?.out ?? null,
      tokens_estimated: tokens?.estimated ?? null,
    };
    return header.map((name) => cell(flat[name])).join(",");
  });
  return `${[header.join(","), ...lines].join("\r\n")}\r\n`;
}

/**
 * A cell that a spreadsheet shows as text and never runs as a formula. The user's spreadsheet may split at another separator than ours, and
 * then begins a cell behind each one. Source: OWASP, "CSV Injection".
 */
function cell(value: string | number | boolean | null): string {
  if (value === null) return "";
  if (typeof value !== "string") return String(value);
  const text = value.replaceAll(/(^|[,;:|\s])(["']*[=+\-@＝＋－＠])/g, "$1'$2");
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
