import type { ComponentChildren } from "preact";
import { productOfIde } from "../../src/base/ide-name.ts";
import type { SpendEnvelope, UsageEnvelope } from "../../src/usage/envelope.ts";
import { creditsOfAll } from "../../src/usage/prices.ts";
import { type PageQuery, sinceOf, turnsBehind } from "./address.ts";
import { api } from "./api.ts";
import { Elsewhere, Heads } from "./elsewhere.tsx";
import { useTurnEnd } from "./live-turns.ts";
import { Choice, Loaded, Section } from "./parts.tsx";
import { creditsInWords } from "./prices.ts";
import { useData } from "./use-data.ts";
import { count, groupKeyOf, shortCount } from "./words.ts";

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
  const since = sinceOf(asked);
  const state = useData(`${by} ${since}`, (signal) => api.usage(since, by, signal));
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

function SpendTable({ usage, asked }: { readonly usage: UsageEnvelope; readonly asked: PageQuery }) {
  const creditsOf = (spend: SpendEnvelope) => creditsOfAll([spend]);
  const hasCredits = usage.data.some((spend) => creditsOf(spend) !== undefined);
  const measure = hasCredits ? (spend: SpendEnvelope) => creditsOf(spend)?.value ?? 0 : tokensOf; // what the rows are sorted by
  const most = Math.max(1e-9, ...usage.data.map(measure));
  const hasEstimates = usage.data.some((spend) => spend.estimated_tokens > 0);
  return (
    <div class="card">
      <div class="scroll">
        <table>
          <caption class="hidden">{`Turns, tokens and credits by ${usage.by}`}</caption>
          <thead>
            <tr>
              <Heads name={usage.by} figures={["Turns", "Tokens", ...(hasCredits ? ["Credits"] : [])]} />
            </tr>
          </thead>
          <tbody>
            {usage.data.map((spend) => (
              <tr key={spend.key ?? ""}>
                <th scope="row">
                  <Behind spend={spend} usage={usage} asked={asked} filter={{}}>
                    <span class="key" title={spend.key ?? "unknown"}>
                      {groupKeyOf(spend, usage.by)}
                    </span>
                  </Behind>
                  {measure(spend) > 0 && <span class="share" style={{ width: `${(measure(spend) / most) * 100}%` }} />}
                </th>
                <td class="number">
                  {count(spend.turns)}
                  {spend.failed > 0 && (
                    <span class="muted small block">
                      <Behind spend={spend} usage={usage} asked={asked} filter={{ status: "failed" }}>
                        {count(spend.failed)} failed
                      </Behind>
                    </span>
                  )}
                </td>
                <td class="number">
                  <span class="exact">{tokensInWords(spend, count)}</span>
                  <span class="brief">{tokensInWords(spend, shortCount)}</span>
                </td>
                {hasCredits && <td class="number">{creditsInWordsOf(spend)}</td>}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
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

function tokensInWords(spend: SpendEnvelope, spell: (value: number) => string): string {
  if (spend.unknown_turns === spend.turns) return "unknown";
  return `${spend.estimated_tokens > 0 ? "~" : ""}${spell(tokensOf(spend))}`;
}

function creditsInWordsOf(spend: SpendEnvelope): string {
  const credits = creditsOfAll([spend]);
  return credits === undefined ? "unknown" : creditsInWords(credits);
}

function outsideInWords(use: UsageEnvelope["used_outside"][number]): string {
  const unit = use.unit === "percent" ? " %" : ` ${use.unit}`;
  const lost = `${count(use.lost)}${unit} of the plan of ${productOfIde(use.ide)} were used in this time`;
  if (use.used_outside === null) return `${lost}. Millrace cannot tell how much of that went through it.`;
  if (use.used_outside === 0) return use.bound === "at_least" ? `${lost}.` : `${lost}, all of it through Millrace.`;
  const bound = { exact: "", at_most: "at most ", at_least: "at least ", unknown: "" }[use.bound];
  return `${lost}, ${bound}${count(use.used_outside)}${unit} of it outside Millrace.`;
}
