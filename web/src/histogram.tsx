import { useState } from "preact/hooks";
import type { TurnBarsEnvelope } from "../../src/usage/turn-page-envelope.ts";
import { api, type TurnsQuery } from "./api.ts";
import { useTurnEnd } from "./live-turns.ts";
import { axisEnd } from "./stacks.ts";
import { useData } from "./use-data.ts";
import { count, instantInWords } from "./words.ts";

/** A part of the list's time: its turns, and how many of them failed. */
interface Bar {
  readonly fromMs: number;
  readonly turns: number;
  readonly failed: number;
}

const mostBars = 60;

/** The turns of the list over its time. A drag over some bars, or Enter, narrows the list to their time. */
export function Histogram(props: {
  readonly asked: TurnsQuery;
  readonly onChoose: (times: readonly [from: string, to: string]) => void;
}) {
  const { sort: _, order: __, ...filter } = props.asked;
  const query = { ...filter, bars: String(mostBars) };
  const { data, reload } = useData(`bars ${JSON.stringify(query)}`, (signal) => api.turnBars(query, signal));
  useTurnEnd(reload);
  if (data === undefined) return <div class="histogram" />; // the list below says what is wrong
  const bars = barsOf(data);
  if (bars.every(({ turns }) => turns === 0)) return null;
  const choose = (first: number, last: number) => {
    const at = (index: number) => {
      const ms = Date.parse(data.since) + index * data.width_seconds * 1000;
      return new Date(Math.min(ms, Date.parse(data.until))).toISOString(); // the gateway knows no future
    };
    props.onChoose([at(Math.min(first, last)), at(Math.max(first, last) + 1)]);
  };
  return <Bars bars={bars} widthMs={data.width_seconds * 1000} onChoose={choose} />;
}

/** Every part of the time, also those without a turn. */
export function barsOf({ since, until, width_seconds, data }: TurnBarsEnvelope): readonly Bar[] {
  const [sinceMs, widthMs] = [Date.parse(since), width_seconds * 1000];
  const length = Math.max(1, Math.ceil((Date.parse(until) - sinceMs) / widthMs));
  const known = new Map(data.map(({ from, models }) => [Math.round((Date.parse(from) - sinceMs) / widthMs), models]));
  return Array.from({ length }, (_, index) => {
    const models = known.get(index) ?? [];
    return {
      fromMs: sinceMs + index * widthMs,
      turns: models.reduce((sum, spend) => sum + spend.turns, 0),
      failed: models.reduce((sum, spend) => sum + spend.failed, 0),
    };
  });
}

function Bars(props: {
  readonly bars: readonly Bar[];
  readonly widthMs: number;
  readonly onChoose: (first: number, last: number) => void;
}) {
  const { bars, widthMs, onChoose } = props;
  const [place, setPlace] = useState<number>();
  /** Where a drag, or a choice by Shift and arrows, began. */
  const [start, setStart] = useState<number>();
  const last = bars.length - 1;
  const here = Math.min(place ?? last, last);
  const [low, high] = [Math.min(start ?? here, here), Math.max(start ?? here, here)];
  const end = axisEnd(Math.max(...bars.map(({ turns }) => turns)));
  const chosen = bars.slice(low, high + 1);
  const sum = (of: (bar: Bar) => number) => chosen.reduce((total, bar) => total + of(bar), 0);
  const [turns, failed] = [sum((bar) => bar.turns), sum((bar) => bar.failed)];
  const from = instantInWords(bars[low]?.fromMs ?? 0);
  const to = instantInWords((bars[high]?.fromMs ?? 0) + widthMs);
  const words = `${from} – ${to}: ${count(turns)} ${turns === 1 ? "turn" : "turns"}${failed > 0 ? `, ${count(failed)} failed` : ""}`;
  const reset = () => {
    setPlace(undefined);
    setStart(undefined);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Enter") {
      onChoose(low, high);
      reset();
      return;
    }
    const next = { ArrowLeft: here - 1, ArrowRight: here + 1, Home: 0, End: last }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    setStart(event.shiftKey ? (start ?? here) : undefined);
    setPlace(Math.min(last, Math.max(0, next)));
  };
  return (
    <div class="histogram">
      <div
        class="columns"
        role="slider"
        tabIndex={0}
        aria-label="Time of the list"
        aria-valuemin={0}
        aria-valuemax={last}
        aria-valuenow={here}
        aria-valuetext={words}
        onKeyDown={onKeyDown}
        onBlur={reset}
        onPointerLeave={reset}
        onPointerUp={() => {
          if (start === undefined) return;
          onChoose(low, high);
          reset();
        }}
      >
        {bars.map((bar, index) => (
          <div
            key={bar.fromMs}
            class={place !== undefined && index >= low && index <= high ? "slot chosen" : "slot"}
            onPointerEnter={() => setPlace(index)}
            onPointerDown={(event) => {
              event.preventDefault(); // no text is selected
              setPlace(index);
              setStart(index);
            }}
          >
            <span class="all" style={{ height: `${(bar.turns / end) * 100}%` }}>
              {bar.failed > 0 && <span class="failed" style={{ height: `${(bar.failed / bar.turns) * 100}%` }} />}
            </span>
          </div>
        ))}
      </div>
      <div class="small muted scale">
        <span>{instantInWords(bars[0]?.fromMs ?? 0)}</span>
        <span>
          {place === undefined
            ? `scale to ${count(end)} ${end === 1 ? "turn" : "turns"}; drag to narrow the time`
            : words}
        </span>
        <span>{instantInWords((bars[last]?.fromMs ?? 0) + widthMs)}</span>
      </div>
    </div>
  );
}
