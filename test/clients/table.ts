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

/** The page of supported clients, from what the suite saw. */
export function page(rows: readonly Row[], travelled: readonly Travelled[]): string {
  const cells = rows.map(({ client, version, outcomes }) => [
    client.name,
    version,
    client.surface,
    ...scenarios.map((scenario) => cell(outcomes[scenario])),
  ]);
  const head = ["client", "version", "surface", ...scenarios];
  const line = (row: readonly string[]) => `| ${row.join(" | ")} |`;
  return [
    "# Clients",
    "",
    "Written by `npm run test:clients -- --update`, which drives each client without a person, in an empty home of its own, against a real",
    "gateway process and the stand-in IDE. Nothing here is claimed that was not run.",
    "",
    line(head),
    line(head.map(() => "---")),
    ...cells.map(line),
    "",
    ...scenarios.map((scenario) => `- **${scenario}**: ${meaning[scenario]}`),
    "",
    ...notes(rows),
    "",
    "## Set-up",
    "",
    "With Millrace installed from its packed tarball:",
    "",
    line(["client", "version", "what holds", ""]),
    line(["---", "---", "---", "---"]),
    ...travelled.map(({ journey, version, failure }) =>
      line([journey.client, version, journey.sentence, failure === undefined ? "yes" : "**no**"]),
    ),
    "",
    "Configured, not driven: aider, Zed and Crush. `millrace setup` writes for them what their documentation says; they have windows, or do",
    "not come from npm whole. Continue is driven with what `setup continue` writes, Cline with the command that `setup cline` names.",
    "",
  ].join("\n");
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
