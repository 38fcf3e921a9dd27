import type { ElsewhereEnvelope, UsageEnvelope } from "../../src/usage/envelope.ts";
import { useFirst } from "./parts.tsx";
import { count, groupKeyOf, shortCount } from "./words.ts";

/** What Devin used without Millrace. */
export function Elsewhere({
  by,
  elsewhere,
}: {
  readonly by: UsageEnvelope["by"];
  readonly elsewhere: ElsewhereEnvelope;
}) {
  const { shown, more, isAll } = useFirst(elsewhere.data);
  if (elsewhere.problem !== null)
    return <p class="note">What Devin used without Millrace is unknown: its records cannot be read.</p>;
  if (elsewhere.data.length === 0) return null;
  return (
    <div class="card">
      <p class="note">Without Millrace, by Devin's own records of its CLI and editor:</p>
      <div class={isAll ? "scroll long" : "scroll"}>
        <table class="cards-below">
          <caption class="hidden">{`Calls and tokens without Millrace by ${by}`}</caption>
          <thead>
            <tr>
              <th scope="col" class="name">
                {by}
              </th>
              {figures.map(([title]) => (
                <th key={title} scope="col" class="number">
                  {title}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {shown.map((row) => (
              <tr key={row.key ?? ""} data-row>
                <th scope="row">
                  <span class="cut" title={row.key ?? "unknown"}>
                    {groupKeyOf(row, by)}
                  </span>
                </th>
                {figures.map(([title, of]) => (
                  <td key={title} class="number" data-label={title}>
                    {of(row)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {more}
    </div>
  );
}

const figures = [
  ["Calls", ({ calls }) => count(calls)],
  ["Input", (row) => shortCount(row.input_tokens + row.cache_creation_tokens)],
  ["From the cache", (row) => shortCount(row.cache_read_tokens)],
  ["Output", (row) => shortCount(row.output_tokens)],
] as const satisfies readonly (readonly [string, (row: ElsewhereEnvelope["data"][number]) => string])[];
