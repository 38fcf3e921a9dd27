import { creditsOfAll } from "../../src/usage/prices.ts";
import type { TurnPageEnvelope, TurnRowEnvelope } from "../../src/usage/turn-page-envelope.ts";
import { type PageQuery, sinceOf, turnsBehind } from "./address.ts";
import { api, type Health } from "./api.ts";
import { useTurnEnd } from "./live-turns.ts";
import { Loaded, Prose } from "./parts.tsx";
import { creditsInWords } from "./prices.ts";
import { useData } from "./use-data.ts";
import { clockInWords, count, hintFor, isMistake, modelName, reasonInWords, shortCount, spanInWords } from "./words.ts";

/** The time in figures: turns, tokens, credits, failures, and how long the first token took. Each leads to the turns behind it. */
export function Tiles({ asked }: { readonly asked: PageQuery }) {
  const since = sinceOf(asked);
  const state = useData(since, (signal) => api.turnPage({ since, limit: "0" }, signal), 60_000);
  const models = useData(`models ${since}`, (signal) => api.usage(since, "model", signal), 60_000);
  useTurnEnd(state.reload);
  useTurnEnd(models.reload);
  const credits = creditsOfAll(models.data?.data ?? []);
  return (
    <section aria-labelledby="figures">
      <h2 id="figures" class="hidden">
        Figures
      </h2>
      <Loaded state={state} lines={2}>
        {({ totals }) => totals !== null && <Figures totals={totals} credits={credits} asked={asked} />}
      </Loaded>
    </section>
  );
}

function Figures(props: {
  readonly totals: NonNullable<TurnPageEnvelope["totals"]>;
  readonly credits: ReturnType<typeof creditsOfAll>;
  readonly asked: PageQuery;
}) {
  const { totals, credits, asked } = props;
  const { turns, failed, median_first_token_ms: median, p95_first_token_ms: p95 } = totals;
  const mark = totals.estimated_turns > 0 ? "~" : "";
  const isCounted = totals.tokens_in + totals.tokens_out > 0; // a turn whose tokens are unknown counts as none
  const to = (filter: Partial<PageQuery>) => turnsBehind(asked, filter);
  return (
    <dl class="tiles">
      <Tile name="Turns" value={count(turns)} to={to({ sort: "time", order: "asc" })} />
      <Tile
        name="Tokens in, out"
        value={isCounted ? [totals.tokens_in, totals.tokens_out].map((sum) => mark + shortCount(sum)).join(", ") : "–"}
        to={to({ sort: "tokens_out" })}
      />
      {credits !== undefined && <Tile name="Credits" value={creditsInWords(credits)} to={to({ sort: "credits" })} />}
      <Tile
        name="Failed"
        value={turns === 0 ? "–" : `${count((failed / turns) * 100)} %`}
        to={failed === 0 ? undefined : to({ status: "failed" })}
        isBad={failed > totals.mistaken}
      />
      <Tile
        name="First token, median"
        value={median === null ? "–" : spanInWords(median)}
        to={to({ sort: "first_token", order: "asc" })}
      />
      <Tile
        name="First token, 95 % within"
        value={p95 === null ? "–" : spanInWords(p95)}
        to={to({ sort: "first_token" })}
      />
    </dl>
  );
}

/** The failure that the user may not have seen yet: when, what, why, and what to do. */
export function LastFailure(props: {
  readonly turn: TurnRowEnvelope;
  readonly blocked: NonNullable<Health["blocked"]>;
}) {
  const { turn, blocked } = props;
  const isLimit = turn.reason === "quota_exhausted" || turn.reason === "rate_limited";
  const until = blocked.find(({ model }) => model === turn.model)?.until;
  const limit = until === undefined ? "" : `The limit ends ${clockInWords(Date.parse(until))}.`;
  return (
    <p class="small last-failure">
      <span class="muted">Last failure</span>{" "}
      <a href={`#/turns/${turn.id}`}>{clockInWords(Date.parse(turn.ended_at))}</a>{" "}
      <strong class={isMistake(turn.reason) ? undefined : "bad"}>{reasonInWords(turn.reason)}</strong>
      {`, ${[modelName(turn), ...(turn.client === null ? [] : [turn.client])].join(" from ")}. `}
      <span class="muted">
        <Prose text={isLimit ? limit : hintFor(turn.reason)} />
      </span>
    </p>
  );
}

function Tile(props: {
  readonly name: string;
  readonly value: string;
  /** The address of the turns behind it. */
  readonly to: string | undefined;
  readonly isBad?: boolean;
}) {
  const { name, value, to } = props;
  return (
    <div class={props.isBad === true ? "card bad" : "card"}>
      <dt>{name}</dt>
      <dd>
        {to === undefined || value === "–" ? (
          value
        ) : (
          <a href={to} aria-label={`${name}: ${value}. Show these turns`}>
            {value}
          </a>
        )}
      </dd>
    </div>
  );
}
