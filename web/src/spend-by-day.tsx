import { useState } from "preact/hooks";
import type { UsageDaysEnvelope } from "../../src/usage/usage-days-envelope.ts";
import { type PageQuery, rangeOf, sinceOf, turnsBehind } from "./address.ts";
import { api } from "./api.ts";
import { useTurnEnd } from "./live-turns.ts";
import { Choice, Loaded, Section } from "./parts.tsx";
import { axisEnd, firstMeasure, type Measure, type Stacks, stacksOf, trendsOf } from "./stacks.ts";
import { useData } from "./use-data.ts";
import { count, instantInWords, shortCount, spanInWords } from "./words.ts";

/** What each model used on each day, as stacked bars. */
export function SpendByDay({ asked }: { readonly asked: PageQuery }) {
  const since = sinceOf(asked);
  const [chosen, setChosen] = useState<Measure>();
  const isHours = rangeOf(asked) === "today";
  const state = useData(`${isHours} ${since}`, (signal) =>
    isHours ? hoursOfToday(since, signal) : api.usageDays(since, signal),
  );
  const { data } = state;
  useTurnEnd(state.reload);
  const first = data === undefined ? "turns" : firstMeasure(data);
  const measures = first === "credits" ? (["credits", "turns", "tokens"] as const) : (["turns", "tokens"] as const);
  const measure = chosen ?? first;
  return (
    <Section
      id="days"
      title={isHours ? "Spent each hour" : "Spent each day"}
      aside={
        <Choice
          label="Measure"
          options={measures.map((one) => [one, `${one[0]?.toUpperCase()}${one.slice(1)}`] as const)}
          value={measure}
          onChange={setChosen}
        />
      }
    >
      <Loaded state={state} lines={6}>
        {(usage) => <Days usage={usage} measure={measure} asked={asked} />}
      </Loaded>
    </Section>
  );
}

const hourMs = 3_600_000;

/** Today in hours, in the form of days: each has its begin for a name. A day has 23 hours where the clock goes forward. */
async function hoursOfToday(midnight: string, signal: AbortSignal): Promise<UsageDaysEnvelope> {
  const next = new Date(midnight);
  next.setDate(next.getDate() + 1);
  const until = next.toISOString();
  const hours = Math.round((next.getTime() - Date.parse(midnight)) / hourMs);
  const { data } = await api.turnBars({ since: midnight, width: String(hourMs / 1000) }, signal);
  const known = new Map(data.map(({ from, models }) => [Date.parse(from), models]));
  const begins = Array.from({ length: hours }, (_, hour) => Date.parse(midnight) + hour * hourMs);
  return {
    object: "usage.days",
    since: midnight,
    until,
    time_zone: "",
    data: begins.map((at) => ({ day: new Date(at).toISOString(), models: known.get(at) ?? [] })),
  };
}

const isHour = (part: string) => part.includes("T");

/** The turns behind a bar: those of its hour or day. */
function behind(asked: PageQuery, part: string): string {
  if (!isHour(part)) return turnsBehind(asked, { day: part });
  const endMs = Math.min(Date.now(), Date.parse(part) + hourMs); // the gateway knows no future
  return turnsBehind(asked, { from: part, to: new Date(endMs).toISOString() });
}

function Days(props: { readonly usage: UsageDaysEnvelope; readonly measure: Measure; readonly asked: PageQuery }) {
  const { usage, measure, asked } = props;
  const stacks = stacksOf(usage, measure);
  const trends = trendsOf(usage);
  const [place, setPlace] = useState<number>();
  if (stacks.total === 0) return <p class="card muted">{`No ${measure} in this time.`}</p>;
  const here = place === undefined ? undefined : Math.min(place, stacks.days.length - 1);
  const figures = stacks.series.map(({ name, values, total }) => ({
    name,
    amount: here === undefined ? total : (values[here] ?? 0),
  }));
  const whole = here === undefined ? stacks.total : (stacks.totals[here] ?? 0);
  const when =
    here === undefined
      ? stacks.days.length === 1 || isHour(stacks.days[0] ?? "")
        ? "Today"
        : `${stacks.days.length} days`
      : dayInWords(stacks.days[here] ?? "");
  return (
    <div class="card">
      <Bars
        stacks={stacks}
        isWhole={measure !== "credits"}
        place={here}
        onChoose={setPlace}
        onOpen={(part) => location.assign(behind(asked, part))}
      />
      <p class="small muted at-time">
        {when}: <strong>{`${stacks.mark}${count(whole)} ${whole === 1 ? measure.replace(/s$/, "") : measure}`}</strong>
      </p>
      <ul class="legend">
        {figures.map(({ name, amount }, index) => (
          <li key={name} class={amount === 0 ? "muted" : undefined}>
            <span class={`swatch block-swatch s${index}`} aria-hidden="true" />
            {name} <strong>{count(amount)}</strong>
          </li>
        ))}
      </ul>
      <div class="trends">
        <TrendBars
          name="Failed"
          values={trends.days.map(({ failed }) => failed)}
          value={(here === undefined ? trends.whole : trends.days[here])?.failed ?? null}
          write={(share) => `${count(share * 100)} %`}
          place={here}
        />
        <TrendBars
          name="First token, mean"
          values={trends.days.map(({ firstTokenMs }) => firstTokenMs)}
          value={(here === undefined ? trends.whole : trends.days[here])?.firstTokenMs ?? null}
          write={spanInWords}
          place={here}
        />
      </div>
    </div>
  );
}

/** One figure of each day as small bars, under the day of the large ones; its value for the chosen day, or for the whole time. */
function TrendBars(props: {
  readonly name: string;
  readonly values: readonly (number | null)[];
  readonly value: number | null;
  readonly write: (value: number) => string;
  readonly place: number | undefined;
}) {
  const { name, values, value, write, place } = props;
  const most = Math.max(...values.map((one) => one ?? 0));
  return (
    <div class="trend">
      <p class="small muted">
        {name} <strong>{value === null ? "–" : write(value)}</strong>
      </p>
      {most > 0 && <span class="scale-end small muted">{`scale to ${write(most)}`}</span>}
      <div class="columns" aria-hidden="true">
        {values.map((one, index) => (
          <div key={index} class={index === place ? "slot chosen" : "slot"}>
            {one !== null && one > 0 && <span style={{ height: `${(one / most) * 100}%` }} />}
          </div>
        ))}
      </div>
    </div>
  );
}

/** The bars. Pointer and arrow keys choose a day; its figures stand below. A click or Enter shows its turns. */
function Bars(props: {
  readonly stacks: Stacks;
  /** Whether there are no halves of what is measured. */
  readonly isWhole: boolean;
  readonly place: number | undefined;
  readonly onChoose: (place: number | undefined) => void;
  /** Shows the turns of a day. */
  readonly onOpen: (day: string) => void;
}) {
  const { stacks, isWhole, place, onChoose, onOpen } = props;
  const { days, series, totals } = stacks;
  const end = axisEnd(Math.max(...totals));
  const last = days.length - 1;
  const onKeyDown = (event: KeyboardEvent) => {
    const here = place ?? last;
    if (event.key === "Enter") onOpen(days[here] ?? "");
    const next = { ArrowLeft: here - 1, ArrowRight: here + 1, Home: 0, End: last }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    onChoose(Math.min(last, Math.max(0, next)));
  };
  const at = place ?? last;
  const parts = series.map(({ name, values }) => `${name} ${count(values[at] ?? 0)}`).join(", ");
  return (
    <div
      class="bars"
      role="slider"
      tabIndex={0}
      aria-label="Day on the chart"
      aria-valuemin={0}
      aria-valuemax={last}
      aria-valuenow={at}
      aria-valuetext={`${dayInWords(days[at] ?? "")}: ${count(totals[at] ?? 0)}; ${parts}`}
      onKeyDown={onKeyDown}
      onBlur={() => onChoose(undefined)}
      onPointerLeave={() => onChoose(undefined)}
    >
      <div class="axis" aria-hidden="true">
        {[1, 0.5, 0].map((part) => (
          <span key={part}>{isWhole && !Number.isInteger(end * part) ? "" : shortCount(end * part)}</span>
        ))}
      </div>
      <div class="columns">
        {days.map((day, index) => (
          <div
            key={day}
            class={index === place ? "column chosen" : "column"}
            onPointerEnter={() => onChoose(index)}
            onClick={() => onOpen(day)}
            data-day={day}
          >
            {series.map(({ name, values }, colour) => {
              const value = values[index] ?? 0;
              return value === 0 ? null : (
                <span key={name} class={`s${colour}`} style={{ height: `${(value / end) * 100}%` }} />
              );
            })}
          </div>
        ))}
      </div>
      <div class="days" aria-hidden="true">
        <span>{dayInWords(days[0] ?? "")}</span>
        {days.length > 2 && <span>{dayInWords(days[Math.floor(last / 2)] ?? "")}</span>}
        <span>{dayInWords(days[last] ?? "")}</span>
      </div>
    </div>
  );
}

/** `22 Nov`, of `2026-11-22`; `14:00`, of an hour's begin. */
export function dayInWords(day: string): string {
  if (isHour(day)) return instantInWords(Date.parse(day)).replace(/^.*, /, "");
  return new Date(`${day}T12:00`).toLocaleDateString(undefined, { day: "numeric", month: "short" });
}
