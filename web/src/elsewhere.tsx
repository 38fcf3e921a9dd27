import type { ElsewhereEnvelope, UsageEnvelope } from "../../src/usage/envelope.ts";
import { count, groupKeyOf, shortCount } from "./words.ts";

/** The heads of a table of figures. */
export function Heads({ name, figures }: { readonly name: string; readonly figures: readonly string[] }) {
  return (
    <>
      <th scope="col" class="name">
        {name}
      </th>
      {figures.map((figure) => (
        <th key={figure} scope="col" class="number">
          {figure}
        </th>
      ))}
    </>
  );
}

/** What Devin used without Millrace. */
export function Elsewhere({
  by,
  elsewhere,
}: {
  readonly by: UsageEnvelope["by"];
  readonly elsewhere: ElsewhereEnvelope;
}) {
  if (elsewhere.problem !== null)
    return <p class="note">What Devin used without Millrace is unknown: its records cannot be read.</p>;
  if (elsewhere.data.length === 0) return null;
  return (
    <div class="card">
      <p class="note">Without Millrace, by Devin's own records of its CLI and editor:</p>
      <div class="scroll">
        <table>
          <caption class="hidden">{`Calls and tokens without Millrace by ${by}`}</caption>
          <thead>
            <tr>
              <Heads name={by} figures={["Calls", "Input", "From the cache", "Output"]} />
            </tr>
          </thead>
          <tbody>
            {elsewhere.data.map((row) => (
              <tr key={row.key ?? ""}>
                <th scope="row">
                  <span class="key" title={row.key ?? "unknown"}>
                    {groupKeyOf(row, by)}
                  </span>
                </th>
                <td class="number">{count(row.calls)}</td>
                <td class="number">{shortCount(row.input_tokens + row.cache_creation_tokens)}</td>
                <td class="number">{shortCount(row.cache_read_tokens)}</td>
                <td class="number">{shortCount(row.output_tokens)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </div>
  );
}
