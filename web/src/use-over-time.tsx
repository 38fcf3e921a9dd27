import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import { api, type LimitsHistory } from "./api.ts";
import { Choice, Failure, Loading, Section } from "./parts.tsx";
import { useData } from "./use-data.ts";
import { ideName, instantInWords } from "./words.ts";

const spans = [
  ["24h", "24 h"],
  ["7d", "7 d"],
  ["30d", "30 d"],
] as const;

type Series = LimitsHistory["data"][number];

/** How much of each limit was used, over time. Nothing where there is neither a line nor an IDE that could make one. */
export function UseOverTime({ hasLimits }: { readonly hasLimits: boolean }) {
  const [since, setSince] = useState<(typeof spans)[number][0]>("7d");
  const { data, error } = useData(since, (signal) => api.limitsHistory(since, signal), 300_000);
  const series = data?.data.filter(({ points }) => points.length > 1) ?? [];
  if (!hasLimits && data !== undefined && series.length === 0) return null;
  return (
    <Section
      id="history"
      title="Use over time"
      aside={<Choice label="Since" options={spans} value={since} onChange={setSince} />}
    >
      {error !== undefined && <Failure error={error} />}
      {data === undefined && error === undefined && <Loading lines={5} />}
      {data !== undefined && series.length === 0 && (
        <p class="card muted">
          The first readings make the first line: the plan is read every five minutes while somebody looks.
        </p>
      )}
      {data !== undefined && series.length > 0 && <Chart series={series} since={data.since} />}
    </Section>
  );
}

function Chart({ series, since }: { readonly series: readonly Series[]; readonly since: string }) {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (box.current === null) return undefined;
    const host = box.current;
    let plot = draw(host, series, since);
    const redraw = () => {
      plot.destroy();
      plot = draw(host, series, since);
    };
    const resized = new ResizeObserver(() => plot.setSize({ width: host.clientWidth, height: heightOf(host) }));
    resized.observe(host);
    const scheme = matchMedia("(prefers-color-scheme: dark)");
    scheme.addEventListener("change", redraw);
    return () => {
      scheme.removeEventListener("change", redraw);
      resized.disconnect();
      plot.destroy();
    };
  }, [series, since]);
  return (
    <div class="card">
      <div ref={box} class="chart" aria-hidden="true" />
      <ul class="legend">
        {series.map((one, index) => (
          <li key={nameOf(one)}>
            <span class={`swatch s${index % 6}`} aria-hidden="true" />
            {nameOf(one)}
            <span class="muted"> {latest(one)}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}

function nameOf(one: Series): string {
  return `${ideName(one.ide)}, ${one.label}`;
}

function latest(one: Series): string {
  const last = one.points.findLast(([, used]) => used !== null);
  if (last?.[1] == null) return "unknown";
  return `${Math.round(last[1] * 100)} % used on ${instantInWords(last[0] * 1000)}`;
}

function heightOf(host: HTMLElement): number {
  return host.clientWidth < 500 ? 180 : 240;
}

/** From what was asked for, or a little before the first reading where that is later; epoch seconds. */
function rangeOf(times: readonly number[], since: string): [number, number] {
  const [asked, now] = [Date.parse(since) / 1000, Date.now() / 1000];
  const first = times[0] ?? asked;
  return [Math.max(asked, first - (now - first) * 0.03), now];
}

/** A day at its midnight, the time between; in the browser's language, as all other times here. */
function tickInWords(atSeconds: number, stepSeconds: number): string {
  const at = new Date(atSeconds * 1000);
  const isDay = stepSeconds >= 86_400 || (at.getHours() === 0 && at.getMinutes() === 0);
  return isDay
    ? at.toLocaleDateString(undefined, { day: "numeric", month: "short" })
    : at.toLocaleTimeString(
        undefined,
        at.getMinutes() === 0 ? { hour: "numeric" } : { hour: "numeric", minute: "2-digit" },
      );
}

function draw(host: HTMLElement, series: readonly Series[], since: string): uPlot {
  const style = getComputedStyle(host);
  const colour = (name: string) => style.getPropertyValue(name).trim();
  const axis = {
    stroke: colour("--muted"),
    grid: { stroke: colour("--line"), width: 1 },
    ticks: { stroke: colour("--line"), width: 1 },
    font: "12px system-ui, sans-serif",
  };
  const times = [...new Set(series.flatMap(({ points }) => points.map(([at]) => at)))].sort((a, b) => a - b);
  const columns = series.map(({ points }) => {
    const known = new Map(points);
    // Undefined where this series has no reading of that time, null where its reading did not tell: a gap.
    return times.map((at) => (known.has(at) ? (known.get(at) ?? null) : undefined));
  });
  return new uPlot(
    {
      width: host.clientWidth,
      height: heightOf(host),
      legend: { show: false },
      cursor: { y: false, points: { size: 7 } },
      scales: { y: { range: [0, 1] }, x: { range: rangeOf(times, since) } },
      axes: [
        { ...axis, space: 64, values: (_, splits, __, ___, step) => splits.map((at) => tickInWords(at, step)) },
        { ...axis, size: 58, values: (_, splits) => splits.map((split) => `${Math.round(split * 100)} %`) },
      ],
      series: [
        {},
        ...series.map((one, index) => ({
          label: nameOf(one),
          stroke: colour(`--series-${index % 6}`),
          width: 2,
          points: { show: times.length < 30 },
        })),
      ],
    },
    [times, ...columns] as uPlot.AlignedData, // times, then one column a series
    host,
  );
}
