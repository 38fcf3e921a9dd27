import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { SpendEnvelope, UsageEnvelope } from "../../src/usage/envelope.ts";
import { creditsOfAll } from "../../src/usage/prices.ts";
import { type PageQuery, timesOf, turnsBehind } from "./address.ts";
import { api } from "./api.ts";
import { Elsewhere } from "./elsewhere.tsx";
import { useTurnEnd } from "./live-turns.ts";
import { Choice, Loaded, type Order, Section, SortHead, useFirst } from "./parts.tsx";
import { creditsInWords } from "./prices.ts";
import { useData } from "./use-data.ts";
import { count, groupKeyOf, outsideInWords } from "./words.ts";

const dimensions = [
  ["model", "Model"],
  ["client", "Client"],
  ["project", "Project"],
  ["key", "Key"],
  ["day", "Day"],
] as const;
/** Who spent it: turns, tokens and credits of a time, by one dimension. */
export function SpendSection(props: {
  readonly asked: PageQuery;
  readonly onChange: (part: Partial<PageQuery>) => void;
}) {
  const { asked, onChange } = props;
  const by = dimensions.find(([dimension]) => dimension === asked.by)?.[0] ?? "model";
  const times = timesOf(asked);
  const state = useData(`${by} ${JSON.stringify(times)}`, (signal) => api.usage(times, by, signal));
  useTurnEnd(state.reload);
  return (
    <Section
      id="spend"
      title={`Spent by ${by}`}
      aside={
        <Choice
          label="Group by"
          options={dimensions}
          value={by}
          onChange={(chosen) => onChange({ by: chosen, offset: asked.offset })}
        />
      }
    >
      <Loaded state={state} lines={4}>
        {(data) => (
          <>
            {data.data.length === 0 ? (
              <p class="card muted">No turn ended in this time. This table counts the turns of this gateway.</p>
            ) : (
              <SpendTable usage={data} asked={asked} />
            )}
            {data.elsewhere != null && <Elsewhere by={data.by} elsewhere={data.elsewhere} />}
          </>
        )}
      </Loaded>
    </Section>
  );
}

type Column = "name" | "turns" | "tokens" | "credits";

const columns = [
  ["name", "", "asc"],
  ["turns", "Turns", "desc"],
  ["tokens", "Tokens", "desc"],
  ["credits", "Credits", "desc"],
] as const satisfies readonly (readonly [Column, string, Order])[];

/** What rows are sorted by. */
const values = {
  name: (spend) => spend.name ?? "",
  turns: ({ turns }) => turns,
  tokens: tokensOf,
  credits: (spend) => creditsOfAll([spend])?.value ?? -1,
} as const satisfies Record<Column, (spend: SpendEnvelope) => number | string>;

export function SpendTable({ usage, asked }: { readonly usage: UsageEnvelope; readonly asked: PageQuery }) {
  const hasCredits = usage.data.some((spend) => creditsOfAll([spend]) !== undefined);
  const [sorted, setSorted] = useState<readonly [Column, Order]>();
  const [by, order] = sorted ?? [hasCredits ? "credits" : "tokens", "desc"];
  const sign = order === "asc" ? 1 : -1;
  const rows = usage.data.toSorted((a, b) => {
    const [one, other] = [values[by](a), values[by](b)];
    return one === other ? 0 : sign * (one < other ? -1 : 1);
  });
  const { shown, more, isAll } = useFirst(rows);
  const measure = hasCredits ? values.credits : values.tokens; // what the bars show
  const most = Math.max(1e-9, ...usage.data.map(measure));
  const hasEstimates = usage.data.some((spend) => spend.estimated_tokens > 0);
  return (
    <div class="card">
      <div class={isAll ? "scroll long" : "scroll"}>
        <table class="cards-below">
          <caption class="hidden">{`Turns, tokens and credits by ${usage.by}`}</caption>
          <thead>
            <tr>
              {columns
                .filter(([name]) => name !== "credits" || hasCredits)
                .map(([name, title, first]) => (
                  <SortHead
                    key={name}
                    title={title || `${usage.by[0]?.toUpperCase()}${usage.by.slice(1)}`}
                    look={name === "name" ? "" : "number"}
                    order={by === name ? order : undefined}
                    first={first}
                    onSort={(to) => setSorted([name, to])}
                  />
                ))}
            </tr>
          </thead>
          <tbody>
            {shown.map((spend) => (
              <tr key={spend.key ?? ""} data-row>
                <th scope="row">
                  <Behind spend={spend} usage={usage} asked={asked} filter={{}}>
                    <span class="cut" title={spend.key ?? "unknown"}>
                      {groupKeyOf(spend, usage.by)}
                    </span>
                  </Behind>
                  {measure(spend) > 0 && <span class="share" style={{ width: `${(measure(spend) / most) * 100}%` }} />}
                </th>
                <td class="number" data-label="Turns">
                  {count(spend.turns)}
                  {spend.failed > 0 && (
                    <span class="muted small block">
                      <Behind spend={spend} usage={usage} asked={asked} filter={{ status: "failed" }}>
                        {count(spend.failed)} failed
                      </Behind>
                    </span>
                  )}
                </td>
                <td class="number" data-label="Tokens">
                  {tokensInWords(spend)}
                </td>
                {hasCredits && (
                  <td class="number" data-label="Credits">
                    {creditsInWordsOf(spend)}
                  </td>
                )}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {more}
      {usage.used_outside
        .filter(({ lost }) => lost > 0)
        .map((use) => (
          <p key={use.ide} class="note">
            {outsideInWords(use)}
          </p>
        ))}
      {hasEstimates && <p class="note">~ marks partly estimated values: the IDE reported no counts for some turns.</p>}
    </div>
  );
}

/** A link to the turns behind a row; the text alone where they have no name. */
function Behind(props: {
  readonly spend: SpendEnvelope;
  readonly usage: UsageEnvelope;
  readonly asked: PageQuery;
  readonly filter: Partial<PageQuery>;
  readonly children: ComponentChildren;
}) {
  const { spend, usage, asked, filter, children } = props;
  const { by } = usage;
  if (spend.key === null || spend.key === "") return <>{children}</>;
  // The list has no filter of projects: its search finds them.
  const group = { [by === "project" ? "search" : by]: spend.key };
  return <a href={turnsBehind(asked, { ...group, ...filter })}>{children}</a>;
}

function tokensOf(spend: SpendEnvelope): number {
  return spend.prompt_tokens + spend.completion_tokens + spend.thinking_tokens;
}

function tokensInWords(spend: SpendEnvelope): string {
  if (spend.unknown_turns === spend.turns) return "unknown";
  return `${spend.estimated_tokens > 0 ? "~" : ""}${count(tokensOf(spend))}`;
}

function creditsInWordsOf(spend: SpendEnvelope): string {
  const credits = creditsOfAll([spend]);
  return credits === undefined ? "unknown" : creditsInWords(credits);
}
