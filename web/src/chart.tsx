import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import { type Point, valueAt } from "./lines.ts";
import { onThemeChange } from "./theme.ts";
import { instantInWords } from "./words.ts";

/** A line as it is drawn, with gaps, under the name that the legend gives it. */
export interface Line {
  readonly name: string;
  readonly points: readonly Point[];
}

/** Lines over the time that was asked for. Pointer and arrow keys choose a time; what each line stood at is said below. */
export function Chart(props: { readonly lines: readonly Line[]; readonly from: number; readonly to: number }) {
  const { lines, from, to } = props;
  const box = useRef<HTMLDivElement>(null);
  const plotted = useRef<uPlot>(undefined);
  const [index, setIndex] = useState<number>();
  const times = timesOf(lines);
  useEffect(() => {
    if (box.current === null) return undefined;
    const host = box.current;
    const plot = () => draw(host, lines, [from, to], setIndex);
    plotted.current = plot();
    const redraw = () => {
      plotted.current?.destroy();
      plotted.current = plot();
    };
    const resized = new ResizeObserver(() => plotted.current?.setSize(sizeOf(host)));
    resized.observe(host);
    const ignore = onThemeChange(redraw);
    return () => {
      ignore();
      resized.disconnect();
      plotted.current?.destroy();
    };
  }, [lines, from, to]);
  const chosen = times[Math.min(index ?? times.length - 1, times.length - 1)] ?? to;
  const choose = (next: number) => {
    const bounded = Math.min(times.length - 1, Math.max(0, next));
    setIndex(bounded);
    const at = times[bounded];
    if (at !== undefined) plotted.current?.setCursor({ left: plotted.current.valToPos(at, "x"), top: 0 }, false);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const here = index ?? times.length - 1;
    const next = { ArrowLeft: here - 1, ArrowRight: here + 1, Home: 0, End: times.length - 1 }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    choose(next);
  };
  const values = lines.map((line) => ({ ...line, value: valueAt(line.points, chosen) }));
  const said = values.map(({ name, value }) => `${name} ${percent(value)}`).join(", ");
  return (
    <div class="card">
      <div
        ref={box}
        class="chart"
        role="slider"
        tabIndex={0}
        aria-label="Time on the chart"
        aria-valuemin={0}
        aria-valuemax={Math.max(0, times.length - 1)}
        aria-valuenow={Math.min(index ?? times.length - 1, times.length - 1)}
        aria-valuetext={`${instantInWords(chosen * 1000)}: ${said}`}
        onKeyDown={onKeyDown}
        onBlur={() => setIndex(undefined)}
      />
      <p class="small muted at-time">{index === undefined ? "Now" : instantInWords(chosen * 1000)}</p>
      <ul class="legend">
        {values.map(({ name, value }, place) => (
          <li key={name}>
            <span class={`swatch s${place % 6}`} aria-hidden="true" />
            {name} <strong>{percent(value)}</strong>
          </li>
        ))}
      </ul>
    </div>
  );
}

function percent(value: number | null): string {
  return value === null ? "not read then" : `${Math.round(value * 100)} % used`;
}

function timesOf(lines: readonly Line[]): readonly number[] {
  return [...new Set(lines.flatMap(({ points }) => points.map(([at]) => at)))].sort((a, b) => a - b);
}

function sizeOf(host: HTMLElement): { readonly width: number; readonly height: number } {
  return { width: host.clientWidth, height: host.clientWidth < 500 ? 180 : 240 };
}

/** A day at its midnight, the time between; in the browser's language, as all other times here. */
function tickInWords(atSeconds: number, stepSeconds: number): string {
  const at = new Date(atSeconds * 1000);
  const isDay = stepSeconds >= 86_400 || (at.getHours() === 0 && at.getMinutes() === 0);
  return isDay
    ? at.toLocaleDateString(undefined, { day: "numeric", month: "short" })
    : at.toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
}

function draw(
  host: HTMLElement,
  lines: readonly Line[],
  range: [number, number],
  onChoose: (index: number | undefined) => void,
): uPlot {
  const style = getComputedStyle(host);
  // A custom property keeps `light-dark()` as it is written: only a real colour tells which one holds.
  const colour = (name: string) => {
    host.style.color = `var(${name})`;
    const found = style.color;
    host.style.color = "";
    return found;
  };
  const axis = {
    stroke: colour("--muted"),
    grid: { stroke: colour("--line"), width: 1 },
    ticks: { stroke: colour("--line"), width: 1 },
    font: "12px system-ui, sans-serif",
  };
  const times = timesOf(lines);
  const columns = lines.map(({ points }) => {
    const known = new Map(points);
    // Undefined where this line has no reading of that time, null where its line breaks.
    return times.map((at) => (known.has(at) ? (known.get(at) ?? null) : undefined));
  });
  return new uPlot(
    {
      ...sizeOf(host),
      legend: { show: false },
      cursor: { y: false, drag: { x: false, y: false }, points: { size: 7 } },
      scales: { y: { range: [0, 1] }, x: { range } },
      hooks: {
        setCursor: [({ cursor: { idx, left } }) => onChoose(idx == null || (left ?? -1) < 0 ? undefined : idx)],
      },
      axes: [
        // oxlint-disable-next-line max-params -- the library's interface
        { ...axis, space: 72, values: (_, splits, __, ___, step) => splits.map((at) => tickInWords(at, step)) },
        { ...axis, size: 58, values: (_, splits) => splits.map((split) => `${Math.round(split * 100)} %`) },
      ],
      series: [
        {},
        ...lines.map(({ name }, place) => ({
          label: name,
          stroke: colour(`--series-${place % 6}`),
          width: 2,
          paths: uPlot.paths.stepped?.({ align: 1 }),
          points: { show: false },
        })),
      ],
    } as uPlot.Options, // `paths` is optional, and undefined only in builds without it
    [times, ...columns] as uPlot.AlignedData, // times, then one column a line
    host,
  );
}
