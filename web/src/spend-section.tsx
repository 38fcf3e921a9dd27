import { useEffect, useState } from "preact/hooks";
import type { SpendEnvelope, UsageEnvelope } from "../../src/usage/envelope.ts";
import { api, type Dimension } from "./api.ts";
import { Elsewhere } from "./elsewhere.tsx";
import { Choice, Failure, Loading, Section } from "./parts.tsx";
import { useData } from "./use-data.ts";
import { count, groupKeyOf, ideName, shortCount } from "./words.ts";

const dimensions = [
  ["model", "Model"],
  ["client", "Client"],
  ["project", "Project"],
  ["key", "Key"],
  ["day", "Day"],
] as const;
const spans = [
  ["24h", "24 h"],
  ["7d", "7 d"],
  ["30d", "30 d"],
] as const;

/** Who spent it: turns, tokens and credits of a time, by one dimension. */
export function SpendSection({ reloadRef }: { readonly reloadRef: { current: () => void } }) {
  const [by, setBy] = useState<Dimension>("model");
  const [since, setSince] = useState<(typeof spans)[number][0]>("7d");
  const { data, error, reload } = useData(`${by} ${since}`, (signal) => api.usage(since, by, signal));
  useEffect(() => {
    reloadRef.current = reload;
  }, [reload, reloadRef]);
  return (
    <Section
      id="spend"
      title="Spent"
      aside={
        <div class="choices">
          <Choice label="Group by" options={dimensions} value={by as (typeof dimensions)[number][0]} onChange={setBy} />
          <Choice label="Period" options={spans} value={since} onChange={setSince} />
        </div>
      }
    >
      {error !== undefined && <Failure error={error} />}
      {data === undefined && error === undefined && <Loading lines={4} />}
      {data !== undefined && data.data.length === 0 && (
        <p class="card muted">No turn ended in this time. This table counts the turns of this gateway.</p>
      )}
      {data !== undefined && data.data.length > 0 && <SpendTable usage={data} />}
      {data?.elsewhere != null && <Elsewhere by={data.by} elsewhere={data.elsewhere} />}
    </Section>
  );
}

function SpendTable({ usage }: { readonly usage: UsageEnvelope }) {
  const hasCredits = usage.data.some((spend) => spend.credits_known_turns > 0);
  const measure = hasCredits ? (spend: SpendEnvelope) => spend.credits : tokensOf; // what the rows are sorted by
  const most = Math.max(1e-9, ...usage.data.map(measure));
  const hasEstimates = usage.data.some((spend) => spend.estimated_tokens > 0);
  return (
    <div class="card">
      <div class="scroll">
        <table>
          <caption class="hidden">{`Turns, tokens and credits by ${usage.by}`}</caption>
          <thead>
            <tr>
              <th scope="col" class="name">
                {usage.by}
              </th>
              <th scope="col" class="number">
                Turns
              </th>
              <th scope="col" class="number">
                Tokens
              </th>
              {hasCredits && (
                <th scope="col" class="number">
                  Credits
                </th>
              )}
            </tr>
          </thead>
          <tbody>
            {usage.data.map((spend) => (
              <tr key={spend.key ?? ""}>
                <th scope="row">
                  <span class="key" title={spend.key ?? "unknown"}>
                    {groupKeyOf(spend, usage.by)}
                  </span>
                  <span class="share" style={{ width: `${(measure(spend) / most) * 100}%` }} />
                </th>
                <td class="number">
                  {count(spend.turns)}
                  {spend.failed > 0 && <span class="muted small block">{count(spend.failed)} failed</span>}
                </td>
                <td class="number">
                  <span class="exact">{tokensInWords(spend, count)}</span>
                  <span class="brief">{tokensInWords(spend, shortCount)}</span>
                </td>
                {hasCredits && <td class="number">{creditsInWords(spend)}</td>}
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

function tokensOf(spend: SpendEnvelope): number {
  return spend.prompt_tokens + spend.completion_tokens + spend.thinking_tokens;
}

function tokensInWords(spend: SpendEnvelope, spell: (value: number) => string): string {
  if (spend.unknown_turns === spend.turns) return "unknown";
  return `${spend.estimated_tokens > 0 ? "~" : ""}${spell(tokensOf(spend))}`;
}

function creditsInWords(spend: SpendEnvelope): string {
  if (spend.credits_known_turns === 0) return "unknown";
  return `${spend.credits_known_turns < spend.turns ? "≥ " : ""}${count(spend.credits)}`;
}

function outsideInWords(use: UsageEnvelope["used_outside"][number]): string {
  const unit = use.unit === "percent" ? " %" : ` ${use.unit}`;
  const lost = `${count(use.lost)}${unit} of the plan of ${ideName(use.ide)} were used in this time`;
  if (use.used_outside === null) return `${lost}. Millrace cannot tell how much of that went through it.`;
  const bound = { exact: "", at_most: "at most ", at_least: "at least ", unknown: "" }[use.bound];
  return `${lost}, ${bound}${count(use.used_outside)}${unit} of it outside Millrace.`;
}
