import { useMemo } from "preact/hooks";
import { productOfIde } from "../../src/base/ide-name.ts";
import type { LimitsEnvelope } from "../../src/usage/envelope.ts";
import { api, type LimitsHistory } from "./api.ts";
import type { Chart, Line } from "./chart.tsx";
import { type Point, withGaps, withNewest } from "./lines.ts";
import { Loaded, Loading, Section } from "./parts.tsx";
import { useData, useLate } from "./use-data.ts";

/** How much of each limit was used, over time. Nothing where there is neither a line nor an IDE that could make one. */
export function UseOverTime(props: { readonly since: string; readonly limits: LimitsEnvelope | undefined }) {
  const { since, limits } = props;
  const state = useData(since, (signal) => api.limitsHistory(since, signal), 300_000);
  const { data } = state;
  const drawn = useMemo(() => (data === undefined ? undefined : linesOf(data, limits)), [data, limits]);
  const isEmpty = drawn?.lines.length === 0;
  const isUsed = drawn?.lines.some(({ points }) => points.some(([, used]) => used !== null && used > 0));
  if (isEmpty && limits?.data.length === 0) return null;
  return (
    <Section id="history" title="Use over time">
      <Loaded state={state} lines={5}>
        {() =>
          drawn === undefined || isEmpty ? (
            <p class="card muted">
              {limits?.data.every((of) => of.stand_in) === true
                ? "The plan of a stand-in is not kept, so there is nothing to draw."
                : "The chart begins with the second reading of the plan in this time. While this page is open, Millrace reads it every five minutes."}
            </p>
          ) : isUsed ? (
            <LateChart {...drawn} />
          ) : (
            <Nothing />
          )
        }
      </Loaded>
    </Section>
  );
}

/** Lines along the bottom would look like a chart that was not drawn. */
function Nothing() {
  return <p class="card muted">Nothing of the plan was used in this time.</p>;
}

/** The chart's library is half of the page's code, and the chart stands at its end: it comes once the rest is there. */
function LateChart(props: Parameters<typeof Chart>[0]) {
  const late = useLate(loadChart);
  return late === undefined ? <Loading lines={8} /> : <late.Chart {...props} />;
}

const loadChart = () => import("./chart.tsx");

/** The history's lines of two readings or more, up to now. Each ends at the reading that the cards show: the two must not contradict. */
function linesOf(history: LimitsHistory, limits: LimitsEnvelope | undefined) {
  const from = Date.parse(history.since) / 1000;
  const to = Math.max(Date.now(), Date.parse(limits?.now ?? history.since)) / 1000;
  const lines = history.data.flatMap(({ ide, window, label, points }): Line[] => {
    const readings = withNewest(points, newestOf(limits, ide, window));
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
