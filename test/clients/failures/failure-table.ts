import type { FailureRow, Verdict } from "./drive.ts";
import { type FailureName, failureNames } from "./failure.ts";

/** What each client did after each failure, as a table. */
export function failureTable(rows: readonly FailureRow[], versionOf: (packageName: string) => string): string {
  const line = (row: readonly string[]) => `| ${row.join(" | ")} |`;
  const head = ["client", "API", ...failureNames];
  const body = rows.map(({ client, seen }) => [
    `${client.name} ${versionOf(client.packageName)}`,
    client.surface,
    ...failureNames.map((name) => cell(seen.get(name))),
  ]);
  return [line(head), line(head.map(() => "---")), ...body.map(line), ...notes(rows)].join("\n");
}

function cell(verdict: Verdict | undefined): string {
  if (verdict === undefined) return "–";
  const { requests, prompts, messageAfterMs, endedAfterMs, answered } = verdict.observed;
  const message = messageAfterMs !== undefined ? seconds(messageAfterMs) : answered ? "answered" : "**no message**";
  return `${requests} / ${prompts} / ${message}${endedAfterMs === undefined ? ", **does not stop**" : ""}`;
}

function notes(rows: readonly FailureRow[]): readonly string[] {
  const known = rows.flatMap(({ client }) =>
    (Object.entries(client.knownAfter ?? {}) as [FailureName, string][]).map(
      ([name, why]) => `- ${client.name} (${client.surface}), ${name}: ${why}.`,
    ),
  );
  return known.length === 0 ? [] : ["", ...known];
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(ms < 9_950 ? 1 : 0)} s`;
}
