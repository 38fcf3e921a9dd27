import { merged, surfaceRows, tableLines, together } from "../table.ts";
import type { SessionReport, StepResult } from "./drive.ts";
import { stepNames } from "./script.ts";
import type { SessionClient } from "./session.ts";

export type SessionWay = "Cascade" | "ACP";

/** How each client's session went, as a table; what was not driven keeps the cells of `earlier`, the table of an earlier run. */
export function sessionTable(
  clients: readonly SessionClient[],
  driven: readonly (SessionReport & { readonly way: SessionWay })[],
  {
    versionOf,
    date,
    earlier,
  }: { readonly versionOf: (name: string) => string; readonly date: string; readonly earlier: string },
): string {
  const head = ["client", "version", "API", "over Cascade", "over ACP", "date"];
  const before = surfaceRows(earlier);
  const body = clients.flatMap((client) => {
    const { name, surface } = client;
    const old = before.find(([title, , api]) => title === name && api === surface);
    const own = driven.filter((report) => report.client === client);
    if (own.length === 0) return old === undefined ? [] : [old];
    const cell = (way: SessionWay, at: number) => {
      const report = own.find((each) => each.way === way);
      return report === undefined ? (old?.[at] ?? "–") : summary([...report.steps.values()]);
    };
    return [[name, versionOf(client.packageName), surface, cell("Cascade", 3), cell("ACP", 4), date]];
  });
  const said = clients.flatMap(({ name, surface, known: why = {} }) =>
    Object.entries(why).map(([step, text]) => [`${step}: ${text}.`, `${name} (${surface})`] as const),
  );
  const known = together(said).map(([fault, who]) => `- ${who.join(", ")}, ${fault}`);
  const steps = `The steps, of which each client makes those that it knows: ${stepNames.join(", ")}.`;
  return [...tableLines(head, merged(body)), "", steps, ...(known.length > 0 ? [""] : []), ...known].join("\n");
}

function summary(results: readonly StepResult[]): string {
  const tried = results.filter(({ type }) => type !== "not possible");
  const passed = tried.filter(({ type }) => type === "passed").length;
  return passed === tried.length ? `all ${passed}` : `**${passed} of ${tried.length}**`;
}
