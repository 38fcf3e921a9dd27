import { useEffect } from "preact/hooks";
import { api } from "./api.ts";
import { Loading } from "./parts.tsx";
import { useData } from "./use-data.ts";
import { count, shortCount, spanInWords } from "./words.ts";

/** Today in figures: turns, tokens, credits, failures, and how long the first token took. */
export function Tiles({ reloadRef }: { readonly reloadRef: { current: () => void } }) {
  const { data, reload } = useData(
    "today",
    (signal) => api.turnPage({ since: new Date(new Date().setHours(0, 0, 0, 0)).toISOString(), limit: "0" }, signal),
    60_000,
  );
  useEffect(() => {
    reloadRef.current = reload;
  }, [reload, reloadRef]);
  const totals = data?.totals;
  if (totals === undefined || totals === null) return <Loading lines={2} />;
  const { turns, failed, median_first_token_ms: median, p95_first_token_ms: p95 } = totals;
  const isPart = totals.credits_known_turns < turns;
  const credits = totals.credits_known_turns === 0 && turns > 0 ? "unknown" : count(totals.credits);
  return (
    <section aria-labelledby="today">
      <h2 id="today" class="hidden">
        Today
      </h2>
      <dl class="tiles">
        <Tile name="Turns today" value={count(turns)} />
        <Tile name="Tokens in, out" value={`${shortCount(totals.tokens_in)}, ${shortCount(totals.tokens_out)}`} />
        <Tile name="Credits" value={isPart && credits !== "unknown" ? `≥ ${credits}` : credits} />
        <Tile name="Failed" value={turns === 0 ? "–" : `${count((failed / turns) * 100)} %`} isBad={failed > 0} />
        <Tile name="First token, median" value={median === null ? "–" : spanInWords(median)} />
        <Tile name="First token, 95 % within" value={p95 === null ? "–" : spanInWords(p95)} />
      </dl>
    </section>
  );
}

function Tile(props: { readonly name: string; readonly value: string; readonly isBad?: boolean }) {
  return (
    <div class={props.isBad === true ? "card bad" : "card"}>
      <dt>{props.name}</dt>
      <dd>{props.value}</dd>
    </div>
  );
}
