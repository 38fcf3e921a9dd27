import { useState } from "preact/hooks";
import { type Point, valueAt } from "./lines.ts";
import { instantInWords } from "./words.ts";

/** A line as it is drawn, with gaps, under the name that the legend gives it. */
export interface Line {
  readonly name: string;
  readonly points: readonly Point[];
}

/** Lines over a time, in epoch seconds. A slider below the lines chooses a moment, and a text beside the slider says each line's value. */
export function Chart(props: { readonly lines: readonly Line[]; readonly from: number; readonly to: number }) {
  const { lines, from, to } = props;
  const times = [...new Set(lines.flatMap(({ points }) => points.map(([at]) => at)))].sort((a, b) => a - b);
  const last = times.length - 1;
  const [index = last, setIndex] = useState<number>();
  const chosen = times[Math.min(index, last)] ?? to;
  const values = lines.map((line) => ({ ...line, value: valueAt(line.points, chosen) }));
  const when = index < last ? instantInWords(chosen * 1000) : "Now";
  const across = (at: number) => ((at - from) / (to - from)) * 100;
  return (
    <>
      <div class="bars">
        <div class="axis" aria-hidden="true">
          {["100 %", "50 %", "0 %"].map((share) => (
            <span key={share}>{share}</span>
          ))}
        </div>
        <div class="columns" aria-hidden="true">
          <svg viewBox="0 0 100 100" preserveAspectRatio="none">
            {lines.map(({ name, points }, place) => (
              <path key={name} d={steps(points, across)} style={{ stroke: `var(--series-${place % 6})` }} />
            ))}
            {index < last && <path d={`M${across(chosen)} 0V100`} style={{ stroke: "var(--muted)" }} />}
          </svg>
        </div>
        <div class="days" aria-hidden="true">
          {[from, (from + to) / 2, to].map((at) => (
            <span key={at}>{instantInWords(at * 1000)}</span>
          ))}
        </div>
        <input
          type="range"
          aria-label="Time on the chart"
          max={last}
          value={index}
          aria-valuetext={`${when}: ${values.map(({ name, value }) => `${name} ${percent(value)}`).join(", ")}`}
          onInput={({ currentTarget }) => setIndex(currentTarget.valueAsNumber)}
          onBlur={() => setIndex(undefined)}
        />
      </div>
      <p class="small muted at-time">{when}</p>
      <ul class="legend">
        {values.map(({ name, value }, place) => (
          <li key={name}>
            <span class={`swatch s${place % 6}`} aria-hidden="true" />
            {name} <strong>{percent(value)}</strong>
          </li>
        ))}
      </ul>
    </>
  );
}

function percent(value: number | null): string {
  return value === null ? "not read then" : `${Math.round(value * 100)} % used`;
}

/** The path of a line: each reading holds up to the next one, and nothing is drawn where nothing is known. */
function steps(points: readonly Point[], across: (at: number) => number): string {
  let isDrawn = false;
  const parts = points.map(([at, used]) => {
    const wasDrawn = isDrawn;
    isDrawn = used !== null;
    if (used === null) return wasDrawn ? `H${across(at)}` : "";
    return wasDrawn ? `H${across(at)}V${100 - used * 100}` : `M${across(at)} ${100 - used * 100}`;
  });
  return parts.join("");
}
