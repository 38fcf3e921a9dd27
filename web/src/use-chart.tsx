import { useState } from "preact/hooks";
import { axisEnd, type Measure, type Stacks, stacksOf } from "./stacks.ts";
import { type Bar, barInWords, endsOf, isHour } from "./use-in-bars.ts";
import { count, shortCount } from "./words.ts";

/** Both ends of a time; ISO. */
type Ends = ReturnType<typeof endsOf>;

/** What each model used, as stacked bars. A click, a drag or Enter narrows the page to the time of the bars. */
export function UseChart(props: {
  readonly bars: readonly Bar[];
  readonly measure: Measure;
  readonly onNarrow: (ends: Ends) => void;
}) {
  const { bars, measure, onNarrow } = props;
  const stacks = stacksOf(bars, measure);
  const [place, setPlace] = useState<number>();
  /** Where a drag, or a choice by Shift and arrows, began. */
  const [start, setStart] = useState<number>();
  const last = bars.length - 1;
  if (stacks.total === 0) return <p class="muted">{`No ${measure} in this time.`}</p>;
  const here = place === undefined ? undefined : Math.min(place, last);
  const [low, high] = here === undefined ? [0, last] : [Math.min(start ?? here, here), Math.max(start ?? here, here)];
  const figures = stacks.series.map(({ name, values }) => ({ name, amount: sum(values.slice(low, high + 1)) }));
  const whole = sum(stacks.totals.slice(low, high + 1));
  const leave = () => {
    setPlace(undefined);
    setStart(undefined);
  };
  const narrow = () => {
    const [from, to] = [bars[low], bars[high]];
    if (from !== undefined && to !== undefined) onNarrow(endsOf(from, to));
    leave();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const at = here ?? last;
    if (event.key === "Enter" && here !== undefined) narrow();
    const next = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: last }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    setStart(event.shiftKey ? (start ?? at) : undefined);
    setPlace(Math.min(last, Math.max(0, next)));
  };
  const when = timeInWords(bars.slice(low, high + 1), here === undefined);
  const amount = `${stacks.mark}${count(whole)} ${whole === 1 ? measure.replace(/s$/, "") : measure}`;
  return (
    <>
      <div
        class="bars"
        role="slider"
        tabIndex={0}
        aria-label="Time on the chart"
        aria-valuemin={0}
        aria-valuemax={last}
        aria-valuenow={here ?? last}
        aria-valuetext={`${when}: ${amount}; ${figures.map((one) => `${one.name} ${count(one.amount)}`).join(", ")}`}
        onKeyDown={onKeyDown}
        onBlur={leave}
        onPointerLeave={leave}
        onPointerUp={() => start !== undefined && narrow()}
      >
        <Axis stacks={stacks} isWhole={measure !== "credits"} />
        <div class="columns">
          {bars.map((bar, index) => (
            <div
              key={bar.day}
              class={here !== undefined && index >= low && index <= high ? "column chosen" : "column"}
              data-day={bar.day}
              onPointerEnter={() => setPlace(index)}
              onPointerDown={(event) => {
                event.preventDefault(); // no text is selected
                setPlace(index);
                setStart(index);
              }}
            >
              <Stack stacks={stacks} index={index} />
            </div>
          ))}
        </div>
        <div class="days" aria-hidden="true">
          {[...new Set([0, Math.floor(last / 2), last])].map((at) => (
            <span key={at}>{barInWords(bars[at] ?? { day: "", models: [] })}</span>
          ))}
        </div>
      </div>
      <p class="small muted at-time">
        {when}: <strong>{amount}</strong>
      </p>
      <ul class="legend">
        {figures.map((one, index) => (
          <li key={one.name} class={one.amount === 0 ? "muted" : undefined}>
            <span class={`swatch block-swatch s${index}`} aria-hidden="true" />
            {one.name} <strong>{count(one.amount)}</strong>
          </li>
        ))}
      </ul>
    </>
  );
}

function timeInWords(bars: readonly Bar[], isAll: boolean): string {
  const [first, last] = [bars[0], bars.at(-1)];
  if (first === undefined || last === undefined) return "";
  if (isAll) return isHour(first) ? `${bars.length} hours` : `${bars.length} days`;
  return first === last ? barInWords(first) : `${barInWords(first)} – ${barInWords(last)}`;
}

function Axis({ stacks, isWhole }: { readonly stacks: Stacks; readonly isWhole: boolean }) {
  const end = axisEnd(Math.max(...stacks.totals));
  return (
    <div class="axis" aria-hidden="true">
      {[1, 0.5, 0].map((part) => (
        <span key={part}>{isWhole && !Number.isInteger(end * part) ? "" : shortCount(end * part)}</span>
      ))}
    </div>
  );
}

function Stack({ stacks, index }: { readonly stacks: Stacks; readonly index: number }) {
  const end = axisEnd(Math.max(...stacks.totals));
  return (
    <>
      {stacks.series.map(({ name, values }, colour) => {
        const value = values[index] ?? 0;
        return value === 0 ? null : (
          <span key={name} class={`s${colour}`} style={{ height: `${(value / end) * 100}%` }} />
        );
      })}
    </>
  );
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
