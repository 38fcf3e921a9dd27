import { Fragment } from "preact";
import { useContext } from "preact/hooks";
import { productOfIde } from "../../src/base/ide-name.ts";
import type { LimitsEnvelope } from "../../src/usage/envelope.ts";
import { api, type Health, type LimitsHistory, type LiveTurn } from "./api.ts";
import { useTurnEnd } from "./live-turns.ts";
import { Prose, Section } from "./parts.tsx";
import { PricesOfModels } from "./prices.ts";
import { Connection, FirstRun, RunningTurns } from "./turns-section.tsx";
import { useData, useTurnClock } from "./use-data.ts";
import { When } from "./when.tsx";
import { clockInWords, count, reasonInWords, verdictInWords, whenInWords } from "./words.ts";

/** What happens now: the turns that run and what they cost, the models that are blocked, and the requests that were refused. */
export function Now(props: {
  readonly turns: readonly LiveTurn[];
  readonly connection: "connecting" | "live" | "lost";
  readonly isFirstRun: boolean;
  readonly health: Health | undefined;
  readonly limits: LimitsEnvelope | undefined;
}) {
  const { turns, isFirstRun, health, limits } = props;
  const now = useTurnClock();
  return (
    <Section id="running" title="Now" aside={<Connection state={props.connection} />}>
      {isFirstRun && turns.length === 0 && <FirstRun />}
      {!isFirstRun && <RunningTurns turns={turns} now={now} />}
      {limits !== undefined && !isFirstRun && <PlanRate turns={turns} limits={limits} now={now} />}
      <Blocked blocked={health?.blocked ?? []} now={now} />
      <Refused by={health?.refused?.by ?? []} now={now} />
    </Section>
  );
}

const hourMs = 3_600_000;

/** At what rate the plan is eaten: what the running turns cost by the price list, and how far each window moved in the last hour. */
function PlanRate(props: {
  readonly turns: readonly LiveTurn[];
  readonly limits: LimitsEnvelope;
  readonly now: number;
}) {
  const { turns, limits, now } = props;
  const prices = useContext(PricesOfModels);
  const { data, reload } = useData("hour", (signal) => api.limitsHistory("3h", signal), 60_000);
  useTurnEnd(reload);
  const costs = turns.map(({ model_uid }) => prices.get(model_uid));
  const known = costs.filter((price) => price !== undefined);
  const cost = known.reduce((sum, price) => sum + price, 0);
  const windows = limits.data.flatMap((of) =>
    of.windows
      .filter(({ scope, kind, state }) => scope === "plan" && kind === "consumption" && state === "metered")
      .map((window) => ({
        name: limits.data.length === 1 ? window.label : `${productOfIde(of.ide)}, ${window.label}`,
        moved: movedInLastHour(data, `${of.ide} ${window.id}`, now),
        verdict: window.pace?.verdict === "runs_out" ? verdictInWords(window, now) : "",
      })),
  );
  const moving = windows.filter(({ moved }) => moved !== undefined);
  if (known.length === 0 && moving.length === 0) return null;
  return (
    <p class="small muted plan-rate">
      {known.length > 0 &&
        `These turns cost ${known.length < costs.length ? "at least " : "about "}${count(cost)} ${cost === 1 ? "credit" : "credits"} by the price list. `}
      {moving.map(({ name, moved = 0, verdict }) => (
        <Fragment key={name}>
          {`${name}: `}
          <strong>{moved < 0.005 ? "unchanged" : `+${Math.round(moved * 100)} %`}</strong>
          {` in the last hour${verdict === "" ? "" : `, ${verdict}`}. `}
        </Fragment>
      ))}
    </p>
  );
}

/** How much more of a window is used than an hour ago, 0..1; undefined where a reading is missing or the window was reset since. */
export function movedInLastHour(history: LimitsHistory | undefined, of: string, nowMs: number): number | undefined {
  const points = history?.data.find(({ ide, window }) => `${ide} ${window}` === of)?.points ?? [];
  const last = points.at(-1);
  const before = points.findLast(([at]) => at * 1000 <= nowMs - hourMs) ?? points[0];
  if (last === undefined || before === undefined || last === before) return undefined;
  const [[, from], [, to]] = [before, last];
  if (from === null || to === null || to < from) return undefined;
  const spanMs = (last[0] - before[0]) * 1000;
  return spanMs > hourMs ? ((to - from) * hourMs) / spanMs : to - from;
}

function Blocked(props: { readonly blocked: NonNullable<Health["blocked"]>; readonly now: number }) {
  const { now } = props;
  const blocked = props.blocked.filter(({ until }) => Date.parse(until) > now);
  if (blocked.length === 0) return null;
  return (
    <ul class="card rows refusals" aria-label="Blocked models">
      {blocked.map(({ model, model_name, code, until }) => (
        <li key={model}>
          <span class="badge warn">blocked</span>
          <strong>{model_name}</strong>
          <span>
            {`until ${clockInWords(Date.parse(until))} `}
            <span class="muted">{`(${whenInWords(Date.parse(until), now)}): ${reasonInWords(code)}`}</span>
          </span>
        </li>
      ))}
    </ul>
  );
}

const [mostShown, shownForMs] = [4, 24 * hourMs];

/** A hint says how long to wait from when it was given: the page says when. */
function welcomeInWords(atMs: number, nowMs: number): string {
  return atMs > nowMs ? `Such a request is welcome again ${clockInWords(atMs)}.` : "";
}

function Refused(props: { readonly by: NonNullable<Health["refused"]>["by"]; readonly now: number }) {
  const { now } = props;
  const recent = props.by.filter(({ last_at }) => now - Date.parse(last_at) < shownForMs);
  if (recent.length === 0) return null;
  return (
    <ul class="card rows refusals" aria-label="Refused requests">
      {recent.slice(0, mostShown).map(({ client, code, requests, message, hint, last_at, until }) => (
        <li key={`${client} ${code}`}>
          <span class="badge warn">{`${count(requests)} refused`}</span>
          <strong>{client}</strong>
          <span>
            {`${reasonInWords(code)}, `}
            <When at={last_at} now={now} isPast />
            {". "}
            <span class="muted">
              <Prose text={`${message} ${until === null ? hint : welcomeInWords(Date.parse(until), now)}`} />
            </span>
          </span>
        </li>
      ))}
      {recent.length > mostShown && (
        <li class="muted">{`${count(recent.length - mostShown)} further kinds since the gateway started.`}</li>
      )}
    </ul>
  );
}
