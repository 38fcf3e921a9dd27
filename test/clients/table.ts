import { type Scenario, scenarios } from "./bench.ts";
import type { ClientCase } from "./cases/case.ts";
import type { Outcome } from "./check.ts";
import { hostColumns, type Journey } from "./journeys/journey.ts";

export interface Row {
  readonly client: ClientCase;
  readonly version: string;
  readonly outcomes: Readonly<Record<Scenario, Outcome>>;
}

/** What became of a journey. */
export interface Travelled {
  readonly journey: Journey;
  readonly version: string;
  readonly failure: string | undefined;
}

const meaning: Readonly<Record<Scenario, string>> = {
  plain: "one question, streamed",
  tools: "two calls in one answer, then one more, each run by the client",
  json: "an answer that fits a JSON Schema",
  image: "a picture that reaches the model",
  cancel: "stopped by the user: the model's work ends too",
  error: "a used-up quota: told to the user, not sent again and again",
};

/** The parts of docs/clients.md that the suite writes; the rest of the page is written by hand. */
export function sections(supported: string, travelled: readonly Travelled[]): Readonly<Record<string, string>> {
  const told = travelled.filter(({ journey }) => journey.column === undefined);
  const titles = [...new Set(told.map(({ journey, version }) => `${journey.client} ${version}`))];
  const held = (title: string) =>
    told
      .filter(({ journey, version }) => `${journey.client} ${version}` === title)
      .map(({ journey, failure }) => (failure === undefined ? journey.sentence : `**not**: ${journey.sentence}`));
  const said = together(titles.map((title) => [held(title).join("; "), title]));
  const journeys = said.map(([sentence, who]) => `- ${who.join(", ")}: ${sentence}.`);
  return {
    clients: supported,
    ...(told.length === 0 ? {} : { "set-up": journeys.join("\n") }),
  };
}

/** Whether each client asked the gateway alone, though another host was named. What was not driven keeps its words of `earlier`. */
export function hostList(driven: readonly Travelled[], date: string, earlier: string): string {
  const lines = [...earlier.matchAll(/^- (.*, \d{4}-\d\d-\d\d): (.*)$/gm)];
  const before = lines.flatMap(([, kept = "", clients = ""]) =>
    clients.split(", ").map((client) => [kept, client] as const),
  );
  const nameOf = (client: string) => client.replace(/ \S+$/, "");
  const own = driven.filter(({ journey }) => journey.column !== undefined);
  const names = new Set([...before.map(([, client]) => nameOf(client)), ...own.map(({ journey }) => journey.client)]);
  const said = [...names].map((name) => {
    const old = before.find(([, client]) => nameOf(client) === name);
    const mine = own.filter(({ journey }) => journey.client === name);
    if (old !== undefined && mine.length === 0) return old;
    const lost = hostColumns.filter((column) => {
      const cells = mine.filter(({ journey }) => journey.column === column);
      if (cells.length > 0) return cells.some(({ failure }) => failure !== undefined);
      return (old?.[0] ?? "").slice(0, -", 2026-11-27".length).split("; ").includes(`not ${column}`);
    });
    const kept = lost.length === 0 ? "all" : lost.map((column) => `not ${column}`).join("; ");
    return [`${kept}, ${date}`, `${name} ${mine[0]?.version ?? ""}`] as const;
  });
  const list = together(said).map(([kept, clients]) => `- ${kept}: ${clients.join(", ")}`);
  return list.join("\n");
}

/** What each client can do, as a table. A client that was not driven keeps the row and the notes of `earlier`, the table of an earlier run. */
export function supportTable(
  clients: readonly ClientCase[],
  driven: readonly Row[],
  date: string,
  earlier: string,
): string {
  const head = ["client", "version", "surface", "works", "date"];
  const before = surfaceRows(earlier);
  const rows = clients.flatMap((client) => {
    const row = driven.find((each) => each.client === client);
    if (row === undefined)
      return before.filter(([name, , surface]) => name === client.name && surface === client.surface);
    const works = scenarios.filter((name) => row.outcomes[name].type === "passed");
    const named = works.length === scenarios.length ? "all" : works.join(", ");
    return [[client.name, row.version, client.surface, named, date]];
  });
  const isDriven = (note: string) =>
    driven.some(({ client }) => note.startsWith(`- ${client.name} (${client.surface})`));
  const kept = earlier.split("\n").filter((text) => /^- [^*]/.test(text) && !isDriven(text));
  return [
    ...tableLines(head, merged(rows)),
    "",
    ...scenarios.map((scenario) => `- **${scenario}**: ${meaning[scenario]}`),
    "",
    ...kept,
    ...notes(driven),
  ].join("\n");
}

/** The rows of an earlier table of clients, one for each client and surface, without those of its head. */
export function surfaceRows(table: string): readonly (readonly string[])[] {
  const [, , ...rows] = cellsOf(table).filter((cells) => cells.length > 0);
  return rows.flatMap(([name = "", version = "", surfaces = "", ...rest]) =>
    surfaces.split("; ").map((surface) => [name, version, surface, ...rest]),
  );
}

/** Rows that differ in their surface alone, as one. */
export function merged(rows: readonly (readonly string[])[]): readonly (readonly string[])[] {
  const said = together(rows.map((cells) => [JSON.stringify(cells.with(2, "")), cells[2] ?? ""]));
  return said.map(([row, surfaces]) => (JSON.parse(row) as string[]).with(2, surfaces.join("; "))); // written above
}

/** Each sentence once, with the names of all that it is true of. */
export function together(said: readonly (readonly [what: string, who: string])[]) {
  return [...Map.groupBy(said, ([what]) => what)].map(([what, all]) => [what, all.map(([, who]) => who)] as const);
}

export function tableLines(head: readonly string[], body: readonly (readonly string[])[]): readonly string[] {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [line(head), `|${"---|".repeat(head.length)}`, ...body.map(line)];
}

/** The cells of each row of a table. */
export function cellsOf(table: string): readonly (readonly string[])[] {
  const rows = table.split("\n").map((row) => row.split("|").slice(1, -1));
  return rows.map((row) => row.map((text) => text.trim()));
}

/** What stands between the marks of a part. Throws where the page has no such marks. */
export function sectionOf(page: string, name: string): string {
  const [start, end] = marksOf(name);
  const [from, to] = [page.indexOf(start), page.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`the page has no marks for "${name}"`);
  return page.slice(from + start.length, to);
}

function marksOf(name: string): readonly [string, string] {
  return [`<!-- written by a run: ${name} -->`, `<!-- end of ${name} -->`];
}

/** The page with each of the parts in place of what stood between its marks. Throws where a part has no marks. */
export function withSections(page: string, parts: Readonly<Record<string, string>>): string {
  return Object.entries(parts).reduce((text, [name, part]) => {
    const old = sectionOf(text, name);
    const from = text.indexOf(marksOf(name)[0]) + marksOf(name)[0].length;
    return `${text.slice(0, from)}\n\n${part}\n\n${text.slice(from + old.length)}`;
  }, page);
}

function notes(rows: readonly Row[]): readonly string[] {
  return rows.flatMap(({ client, outcomes }) => {
    const said = together(scenarios.map((scenario) => [outcomes[scenario].note, scenario])).filter(
      ([note]) => note !== "",
    );
    return said.map(([note, of]) => `- ${client.name} (${client.surface}), ${of.join(", ")}: ${note}.`);
  });
}
