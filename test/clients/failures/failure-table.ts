import type { ClientCase } from "../cases/case.ts";
import { cellsOf, tableLines } from "../table.ts";
import type { FailureRow, Verdict } from "./drive.ts";
import { type FailureName, failureNames } from "./failure.ts";

/**
 * What each client did after each failure, as a table. A client that was not driven keeps its row of `earlier`, the table of an earlier
 * run, and its version there; of one that was driven in part, the cells of the same version stay.
 */
export function failureTable(
  clients: readonly ClientCase[],
  driven: readonly FailureRow[],
  versionOf: (packageName: string) => string,
  earlier: string,
): string {
  const head = ["client", "API", ...failureNames];
  const asked = clients.filter(({ ask }) => ask !== undefined);
  const body = asked.map((client) => {
    const title = [`${client.name} ${versionOf(client.packageName)}`, client.surface];
    const seen = driven.find((row) => row.client === client)?.seen;
    const old = rowOf(earlier, client);
    if (seen === undefined && old !== undefined) return old;
    const before = old !== undefined && old[0] === title[0] ? old.slice(2) : [];
    return [...title, ...failureNames.map((name, at) => cell(seen?.get(name)) ?? before[at] ?? "–")];
  });
  return [...tableLines(head, body), ...notes(asked)].join("\n");
}

/** A client's row of a table, of any version; undefined if there is none, or if the table has other columns. */
function rowOf(table: string, { name, surface }: ClientCase): readonly string[] | undefined {
  const cells = cellsOf(table);
  const [head] = cells.filter(([first]) => first === "client");
  if (head?.slice(2).join() !== failureNames.join()) return undefined;
  return cells.find(([title = "", api]) => title.replace(/ \S+$/, "") === name && api === surface);
}

function cell(verdict: Verdict | undefined): string | undefined {
  if (verdict === undefined) return undefined;
  const { requests, prompts, messageAfterMs, endedAfterMs, answered } = verdict.observed;
  const message = messageAfterMs !== undefined ? seconds(messageAfterMs) : answered ? "answered" : "**no message**";
  return `${requests}/${prompts}, ${message}${endedAfterMs === undefined ? ", **does not stop**" : ""}`;
}

function notes(clients: readonly ClientCase[]): readonly string[] {
  const known = clients.flatMap((client) =>
    (Object.entries(client.knownAfter ?? {}) as [FailureName, string][]).map(
      ([name, why]) => `- ${client.name} (${client.surface}), ${name}: ${why}.`,
    ),
  );
  return known.length === 0 ? [] : ["", ...known];
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(ms < 9_950 ? 1 : 0);
}
