import { useMemo, useState } from "preact/hooks";
import { productOfIde } from "../../src/base/ide-name.ts";
import type { LimitsEnvelope } from "../../src/usage/envelope.ts";
import { hasBothEnds, midnight, type PageQuery, rangeOf, ranges, type Times, timesOf } from "./address.ts";
import { api, type LimitsHistory } from "./api.ts";
import { Chart, type Line } from "./chart.tsx";
import { type Point, withGaps, withNewest } from "./lines.ts";
import { Choice, Loaded, Section } from "./parts.tsx";
import { firstMeasure, type Measure } from "./stacks.ts";
import { Tiles } from "./tiles.tsx";
import { UseChart } from "./use-chart.tsx";
import { useData } from "./use-data.ts";
import { useBars } from "./use-in-bars.ts";

type Change = (part: Partial<PageQuery>) => void;

/** What was used in the time of the page: figures, and a chart of one of them or of the plan. The address has both ends of a time. */
export function UseOverTime(props: {
  readonly asked: PageQuery;
  readonly onChange: Change;
  readonly limits: LimitsEnvelope | undefined;
}) {
  const { asked, onChange, limits } = props;
  const bars = useBars(asked);
  const [chosen, setChosen] = useState<Measure | "plan">();
  const first = bars.data === undefined ? "turns" : firstMeasure(bars.data.bars);
  const measures = [...(first === "credits" ? (["credits"] as const) : []), "turns", "tokens", "plan"] as const;
  const measure = chosen ?? first;
  return (
    <Section id="use" title="Use over time" aside={<Time asked={asked} onChange={onChange} />}>
      <Tiles asked={asked} use={bars.data} />
      <div class="card chart-card">
        <Choice
          label="Measure"
          options={measures.map((one) => [one, `${one[0]?.toUpperCase()}${one.slice(1)}`] as const)}
          value={measure}
          onChange={setChosen}
        />
        {measure === "plan" ? (
          <PlanLines times={timesOf(asked)} limits={limits} />
        ) : (
          <Loaded state={bars} lines={8}>
            {(use) => <UseChart bars={use.bars} measure={measure} onNarrow={onChange} />}
          </Loaded>
        )}
      </div>
    </Section>
  );
}

/** The time of the page: one of a few ranges, or a first and a last day. */
function Time({ asked, onChange }: { readonly asked: PageQuery; readonly onChange: Change }) {
  const { since, until = midnight(1).toISOString() } = timesOf(asked);
  const [from, to] = [new Date(since), new Date(Date.parse(until) - 1)];
  const day = (at: Date) => at.toLocaleDateString("sv"); // the Swedish form of a date is ISO's
  const choose = (first: string, last: string) => {
    const end = new Date(`${last}T00:00`);
    end.setDate(end.getDate() + 1);
    const ends = { from: new Date(`${first}T00:00`), to: new Date(Math.min(end.getTime(), Date.now())) };
    if (ends.from < ends.to) onChange({ from: ends.from.toISOString(), to: ends.to.toISOString() });
  };
  return (
    <div class="choices">
      <div class="choices days-of">
        <input
          type="date"
          aria-label="First day"
          value={day(from)}
          max={day(to)}
          onChange={({ currentTarget }) => choose(currentTarget.value, day(to))}
        />
        –
        <input
          type="date"
          aria-label="Last day"
          value={day(to)}
          min={day(from)}
          max={day(new Date())}
          onChange={({ currentTarget }) => choose(day(from), currentTarget.value)}
        />
        {hasBothEnds(asked) && (
          <button type="button" class="quiet" onClick={() => onChange({ from: "", to: "" })}>
            Whole time
          </button>
        )}
      </div>
      <Choice
        label="Time"
        options={ranges}
        value={rangeOf(asked)}
        onChange={(range) => onChange({ since: range, from: "", to: "" })}
      />
    </div>
  );
}

/** How much of each limit was used, over time. */
function PlanLines(props: { readonly times: Times; readonly limits: LimitsEnvelope | undefined }) {
  const { times, limits } = props;
  const { since, until } = times;
  const state = useData(since, (signal) => api.limitsHistory(since, signal), 300_000);
  const { data } = state;
  const drawn = useMemo(() => (data === undefined ? undefined : linesOf(data, limits, until)), [data, limits, until]);
  const isUsed = drawn?.lines.some(({ points }) => points.some(([, used]) => used !== null && used > 0));
  return (
    <Loaded state={state} lines={8}>
      {() =>
        drawn === undefined || drawn.lines.length === 0 ? (
          <p class="muted">
            {limits?.data.every((of) => of.stand_in) === true
              ? "The plan of a stand-in is not kept, so there is nothing to draw."
              : "The chart begins with the second reading of the plan in this time. While this page is open, Millrace reads it every five minutes."}
          </p>
        ) : isUsed ? (
          <Chart {...drawn} />
        ) : (
          <p class="muted">Nothing of the plan was used in this time.</p>
        )
      }
    </Loaded>
  );
}

/** The history's lines of two readings or more, up to the end. Each ends at the reading that the cards show: the two must not contradict. */
function linesOf(history: LimitsHistory, limits: LimitsEnvelope | undefined, until: string | undefined) {
  const from = Date.parse(history.since) / 1000;
  const now = Math.max(Date.now(), Date.parse(limits?.now ?? history.since)) / 1000;
  const to = until === undefined ? now : Date.parse(until) / 1000;
  const lines = history.data.flatMap(({ ide, window, label, points }): Line[] => {
    const all = until === undefined ? withNewest(points, newestOf(limits, ide, window)) : points;
    const readings = all.filter(([at]) => at <= to);
    const known = readings.filter(([, used]) => used !== null);
    return known.length < 2 ? [] : [{ name: `${productOfIde(ide)}, ${label}`, points: withGaps(readings, to) }]; // one is no line
  });
  return { lines, from, to };
}

function newestOf(limits: LimitsEnvelope | undefined, ide: string, windowId: string): Point | undefined {
  const of = limits?.data.find((one) => one.ide === ide);
  const window = of?.windows.find(({ id }) => id === windowId);
  if (of === undefined || window === undefined) return undefined;
  return [Math.round(Date.parse(of.fetched_at) / 1000), window.utilization];
}
