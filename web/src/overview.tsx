import { useMemo } from "preact/hooks";
import type { LimitsEnvelope } from "../../src/usage/envelope.ts";
import { rangeOf, ranges, sinceOf, useAsked } from "./address.ts";
import { api } from "./api.ts";
import type { PageHealth } from "./health-banner.tsx";
import { IdesFound } from "./ides-found.tsx";
import { LimitsSection } from "./limits-section.tsx";
import { useLiveTurns, useTurnEnd } from "./live-turns.ts";
import { Now } from "./now-section.tsx";
import { Choice } from "./parts.tsx";
import { alertsAreOn } from "./settings.ts";
import { SpendByDay } from "./spend-by-day.tsx";
import { SpendSection } from "./spend-section.tsx";
import { LastFailure, Tiles } from "./tiles.tsx";
import { useTitle } from "./title.ts";
import { TurnsTable } from "./turns-table.tsx";
import { type DataState, useData } from "./use-data.ts";
import type { Failures } from "./use-failures.ts";
import { UseOverTime } from "./use-over-time.tsx";

/** After a turn's end the gateway waits a moment before it reads the plan again; so does this page. */
const rereadMs = 11_000;

/** What runs, what is left, and who spent it. */
export function Overview(
  props: PageHealth & { readonly limits: DataState<LimitsEnvelope>; readonly failures: Failures },
) {
  const { health, ides, limits, failures } = props;
  useTurnEnd(limits.reload, rereadMs, alertsAreOn);
  const live = useLiveTurns();
  const [asked, change] = useAsked();
  useTitle("");
  const turns = [...live.turns.values()].sort((a, b) => b.created_at.localeCompare(a.created_at));
  const hasTurns = turns.length > 0;
  // The log forgets turns within hours; whether there ever was one, the history knows.
  const ever = useData("ever", (signal) => api.turnPage({ since: "400d", limit: "1", totals: "0" }, signal));
  const isFirstRun = !hasTurns && live.connection === "live" && ever.data?.data.length === 0;
  // Running turns change the page many times a second: what does not show them is kept as it is.
  const top = useMemo(
    () => (
      <>
        {!isFirstRun && (
          <>
            <Choice
              label="Time"
              options={ranges}
              value={rangeOf(asked)}
              onChange={(since) => change({ since, from: "", to: "" })}
            />
            <Tiles asked={asked} />
            {failures.last !== undefined && <LastFailure turn={failures.last} blocked={health.data?.blocked ?? []} />}
          </>
        )}
        <LimitsSection limits={limits} />
      </>
    ),
    [isFirstRun, limits, failures.last, health.data?.blocked, asked],
  );
  const spent = useMemo(
    () =>
      !isFirstRun && (
        <>
          <div class="pair">
            <SpendByDay asked={asked} />
            <SpendSection asked={asked} onChange={change} />
          </div>
          <TurnsTable asked={asked} onChange={change} />
        </>
      ),
    [isFirstRun, asked],
  );
  const rest = useMemo(
    () => (
      <div class="pair">
        <UseOverTime since={sinceOf(asked)} limits={limits.data} />
        <IdesFound ides={ides} />
      </div>
    ),
    [limits.data, ides, asked],
  );
  return (
    <>
      <h1 class="hidden">Overview</h1>
      <Now
        turns={turns.filter((turn) => turn.status === "running")}
        connection={live.connection}
        isFirstRun={isFirstRun}
        health={health.data}
        limits={limits.data}
      />
      {top}
      {spent}
      {rest}
    </>
  );
}
