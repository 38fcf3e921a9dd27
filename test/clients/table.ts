import { type Scenario, scenarios } from "./bench.ts";
import type { ClientCase } from "./cases/case.ts";
import type { Outcome } from "./check.ts";
import type { Journey } from "./journeys/journey.ts";

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
export function sections(
  rows: readonly Row[],
  travelled: readonly Travelled[],
  failureRows: string | undefined,
): Readonly<Record<string, string>> {
  const line = (row: readonly string[]) => `| ${row.join(" | ")} |`;
  const head = ["client", "version", "surface", ...scenarios];
  const supported = [
    line(head),
    line(head.map(() => "---")),
    ...rows.map(({ client, version, outcomes }) =>
      line([client.name, version, client.surface, ...scenarios.map((scenario) => cell(outcomes[scenario]))]),
    ),
    "",
    ...scenarios.map((scenario) => `- **${scenario}**: ${meaning[scenario]}`),
    "",
    ...notes(rows),
  ];
  const journeys = [
    line(["client", "version", "what holds", ""]),
    line(["---", "---", "---", "---"]),
    ...travelled.map(({ journey, version, failure }) =>
      line([journey.client, version, journey.sentence, failure === undefined ? "yes" : "**no**"]),
    ),
  ];
  return {
    ...(rows.length === 0 ? {} : { clients: supported.join("\n") }),
    ...(travelled.length === 0 ? {} : { "set-up": journeys.join("\n") }),
    ...(failureRows === undefined ? {} : { failures: failureRows }),
  };
}

/** What stands between the marks of a part. Throws where the page has no such marks. */
export function sectionOf(page: string, name: string): string {
  const [start, end] = marksOf(name);
  const [from, to] = [page.indexOf(start), page.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`docs/clients.md has no marks for "${name}"`);
  return page.slice(from + start.length, to);
}

function marksOf(name: string): readonly [string, string] {
  return [`<!-- written by programs clients: ${name} -->`, `<!-- end of ${name} -->`];
}

/** The page with each of the parts in place of what stood between its marks. Throws where a part has no marks. */
export function withSections(page: string, parts: Readonly<Record<string, string>>): string {
  return Object.entries(parts).reduce((text, [name, part]) => {
    const old = sectionOf(text, name);
    const from = text.indexOf(marksOf(name)[0]) + marksOf(name)[0].length;
    return `${text.slice(0, from)}\n\n${part}\n\n${text.slice(from + old.length)}`;
  }, page);
}

function cell(outcome: Outcome): string {
  return { passed: "yes", failed: "**no**", known: "**no**", "not possible": "–" }[outcome.type];
}

function notes(rows: readonly Row[]): readonly string[] {
  return rows.flatMap(({ client, outcomes }) =>
    scenarios.flatMap((scenario) => {
      const { note } = outcomes[scenario];
      return note === "" ? [] : [`- ${client.name} (${client.surface}), ${scenario}: ${note}.`];
    }),
  );
}
