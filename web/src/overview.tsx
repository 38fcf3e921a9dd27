import { useMemo } from "preact/hooks";
import type { LimitsEnvelope } from "../../src/usage/envelope.ts";
import { useAsked } from "./address.ts";
import { api } from "./api.ts";
import { FirstRun } from "./first-run.tsx";
import type { PageHealth } from "./health-banner.tsx";
import { useLiveTurns, useTurnEnd } from "./live-turns.ts";
import { Notices } from "./notices.tsx";
import { Plan } from "./plan.tsx";
import { Running } from "./running.tsx";
import { alertsAreOn } from "./settings.ts";
import { SpendSection } from "./spend-section.tsx";
import { useTitle } from "./title.ts";
import { TurnsTable } from "./turns-table.tsx";
import { type DataState, useData } from "./use-data.ts";
import { UseOverTime } from "./use-over-time.tsx";
import { WeekSheet } from "./week-sheet.tsx";

/** After a turn's end the gateway waits a moment before it reads the plan again; so does this page. */
const rereadMs = 11_000;

const latestFailure = { since: "7d", status: "failed", sort: "time", order: "desc", limit: "1", totals: "0" };

/** What is left of the plan, what runs, what was used over time, and who used it. */
export function Overview(props: PageHealth & { readonly limits: DataState<LimitsEnvelope> }) {
  const { health, limits } = props;
  useTurnEnd(limits.reload, rereadMs, alertsAreOn);
  const live = useLiveTurns();
  const [asked, change] = useAsked();
  useTitle("");
  const turns = [...live.turns.values()].sort((a, b) => b.created_at.localeCompare(a.created_at));
  // The log forgets turns within hours; whether there ever was one, the history knows.
  const ever = useData("ever", (signal) => api.turnPage({ since: "400d", limit: "1", totals: "0" }, signal));
  const failed = useData("failures", (signal) => api.turnPage(latestFailure, signal), 60_000);
  useTurnEnd(failed.reload);
  const last = failed.data?.data[0];
  const isFirstRun = turns.length === 0 && live.connection === "live" && ever.data?.data.length === 0;
  // What stands above is not known yet, and would push the rest down when it comes.
  const isKnown = live.connection !== "connecting" && (ever.data ?? ever.error) !== undefined;
  // Running turns change the page many times a second: what does not show them is kept as it is.
  const plan = useMemo(() => <Plan limits={limits} />, [limits]);
  const notices = useMemo(() => <Notices health={health.data} last={last} />, [health.data, last]);
  const used = useMemo(
    () => (
      <>
        <UseOverTime asked={asked} onChange={change} limits={limits.data} />
        <SpendSection asked={asked} onChange={change} />
        <TurnsTable asked={asked} onChange={change} />
        <WeekSheet />
      </>
    ),
    [limits.data, asked],
  );
  return (
    <>
      <h1 class="hidden">Overview</h1>
      {plan}
      <div class={isKnown ? undefined : "unknown-yet"}>
        <Running turns={turns.filter((turn) => turn.status === "running")} />
        {notices}
        {isFirstRun ? <FirstRun /> : used}
      </div>
    </>
  );
}
