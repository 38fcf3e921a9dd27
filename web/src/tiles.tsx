import { creditsOfAll } from "../../src/usage/prices.ts";
import type { TurnPageEnvelope } from "../../src/usage/turn-page-envelope.ts";
import { type PageQuery, timesOf, turnsBehind } from "./address.ts";
import { api } from "./api.ts";
import { useTurnEnd } from "./live-turns.ts";
import { Loaded } from "./parts.tsx";
import { creditsInWords } from "./prices.ts";
import { changeOf, type Figure, figures } from "./stacks.ts";
import { useData } from "./use-data.ts";
import type { UseInBars } from "./use-in-bars.ts";
import { count, shortCount, spanInWords } from "./words.ts";

/** The time in figures, each with its course and what it was in the time before. Each leads to the turns behind it. */
export function Tiles({ asked, use }: { readonly asked: PageQuery; readonly use: UseInBars | undefined }) {
  const times = timesOf(asked);
  const state = useData(
    `totals ${JSON.stringify(times)}`,
    (signal) => api.turnPage({ ...times, limit: "0" }, signal),
    60_000,
  );
  useTurnEnd(state.reload);
  return (
    <Loaded state={state} lines={2}>
      {({ totals }) => totals !== null && <Figures totals={totals} use={use} asked={asked} />}
    </Loaded>
  );
}

const nothing: UseInBars = { bars: [], before: [] };

function Figures(props: {
  readonly totals: NonNullable<TurnPageEnvelope["totals"]>;
  readonly use: UseInBars | undefined;
  readonly asked: PageQuery;
}) {
  const { totals, use = nothing, asked } = props;
  const { turns, failed, median_first_token_ms: median, p95_first_token_ms: p95 } = totals;
  const mark = totals.estimated_turns > 0 ? "~" : "";
  const isCounted = totals.tokens_in + totals.tokens_out > 0; // a turn whose tokens are unknown counts as none
  const credits = creditsOfAll(use.bars.flatMap(({ models }) => models));
  const to = (filter: Partial<PageQuery>) => turnsBehind(asked, filter);
  const isDrawn = use.bars.filter(({ models }) => models.length > 0).length > 1;
  return (
    <>
      <dl class="tiles">
        <Tile name="Turns" value={count(turns)} to={to({ sort: "time", order: "asc" })} of={figures.turns} use={use} />
        <Tile
          name="Tokens in, out"
          value={
            isCounted ? [totals.tokens_in, totals.tokens_out].map((sum) => mark + shortCount(sum)).join(", ") : "–"
          }
          to={to({ sort: "tokens_out" })}
          of={figures.tokens}
          use={use}
        />
        {credits !== undefined && (
          <Tile
            name="Credits"
            value={creditsInWords(credits)}
            to={to({ sort: "credits" })}
            of={figures.credits}
            use={use}
          />
        )}
        <Tile
          name="Failed"
          value={turns === 0 ? "–" : `${count((failed / turns) * 100)} %`}
          to={failed === 0 ? undefined : to({ status: "failed" })}
          isBad={failed > totals.mistaken}
          of={figures.failed}
          use={use}
        />
        <Tile
          name="First token"
          value={median === null ? "–" : spanInWords(median)}
          more={p95 === null ? "" : `95 % within ${spanInWords(p95)}`}
          to={to({ sort: "first_token", order: "asc" })}
          of={figures.firstTokenMs}
          use={use}
        />
      </dl>
      {use !== nothing && !isDrawn && turns > 0 && (
        <p class="small muted">A course is drawn once there are turns in two parts of this time.</p>
      )}
    </>
  );
}

function Tile(props: {
  readonly name: string;
  readonly value: string;
  /** In place of the change. */
  readonly more?: string;
  /** The address of the turns behind it. */
  readonly to: string | undefined;
  readonly isBad?: boolean;
  readonly of: Figure;
  readonly use: UseInBars;
}) {
  const { name, value, more = "", to, of, use } = props;
  const all = (bars: UseInBars["bars"]) => of(bars.flatMap(({ models }) => models));
  const change = changeOf(all(use.bars), all(use.before));
  return (
    <div class={props.isBad === true ? "card tile bad" : "card tile"}>
      <dt>{name}</dt>
      <dd class="value">
        {to === undefined || value === "–" ? (
          value
        ) : (
          <a href={to} aria-label={`${name}: ${value}. Show these turns`}>
            {value}
          </a>
        )}
      </dd>
      <dd class="small muted">{more !== "" ? more : change === undefined ? "" : changeInWords(change)}</dd>
      <dd class="spark" aria-hidden="true">
        <Spark values={use.bars.map(({ models }) => of(models))} />
      </dd>
    </div>
  );
}

/** `12 % more than before`. */
function changeInWords(change: number): string {
  if (change === 0) return "as before";
  return `${count(Math.abs(change))} % ${change > 0 ? "more" : "less"} than before`;
}

/** The course of a figure: a line without numbers. Nothing is drawn of fewer than two parts with a value. */
function Spark({ values }: { readonly values: readonly (number | null)[] }) {
  const most = Math.max(...values.map((value) => value ?? 0));
  if (values.filter((value) => value !== null && value > 0).length < 2) return null;
  const points = values.map((value, at) => `${(at / (values.length - 1)) * 100},${23 - ((value ?? 0) / most) * 22}`);
  return (
    <svg viewBox="0 0 100 24" preserveAspectRatio="none">
      <polyline points={points.join(" ")} />
    </svg>
  );
}
