import { useCallback, useEffect, useRef } from "preact/hooks";
import { api } from "./api.ts";
import type { PageHealth } from "./health-banner.tsx";
import { IdesFound } from "./ides-found.tsx";
import { LimitsSection } from "./limits-section.tsx";
import { useLiveTurns } from "./live-turns.ts";
import { SpendSection } from "./spend-section.tsx";
import { Tiles } from "./tiles.tsx";
import { RunningTurns } from "./turns-section.tsx";
import { TurnsTable } from "./turns-table.tsx";
import { useData } from "./use-data.ts";
import { UseOverTime } from "./use-over-time.tsx";

/** After a turn's end the gateway waits a moment before it reads the plan again; so does this page. */
const rereadMs = 11_000;

/** What is left, what runs, and who spent it. */
export function Overview({ health, ides }: PageHealth) {
  const limits = useData("limits", api.limits, 60_000);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const soon = useRef<ReturnType<typeof setTimeout>>(undefined);
  const spendReload = useRef<() => void>(() => {});
  const tableReload = useRef<() => void>(() => {});
  const tilesReload = useRef<() => void>(() => {});
  const onEnd = useCallback(() => {
    const reread = () => {
      for (const reload of [spendReload, tableReload, tilesReload]) reload.current();
    };
    reread();
    clearTimeout(timer.current);
    clearTimeout(soon.current);
    // The history takes a turn in a moment after its end.
    soon.current = setTimeout(reread, 1500);
    timer.current = setTimeout(limits.reload, rereadMs);
  }, [limits.reload]);
  const live = useLiveTurns(onEnd);
  useEffect(() => {
    document.title = "Millrace";
    return () => {
      clearTimeout(timer.current);
      clearTimeout(soon.current);
    };
  }, []);
  const turns = [...live.turns.values()].sort((a, b) => b.created_at.localeCompare(a.created_at));
  const hasTurns = turns.length > 0;
  // The log forgets turns within hours; whether there ever was one, the history knows.
  const ever = useData("ever", (signal) => api.usage("400d", "client", signal));
  const isFirstRun = !hasTurns && live.connection === "live" && ever.data?.data.length === 0;
  return (
    <>
      <h1 class="hidden">Overview</h1>
      {!isFirstRun && <Tiles reloadRef={tilesReload} />}
      <LimitsSection limits={limits} />
      <RunningTurns
        turns={turns.filter((turn) => turn.status === "running")}
        connection={live.connection}
        isFirstRun={isFirstRun}
      />
      {!isFirstRun && <TurnsTable reloadRef={tableReload} />}
      {!isFirstRun && <SpendSection reloadRef={spendReload} />}
      <UseOverTime limits={limits.data} />
      <IdesFound ides={ides} version={health.data?.version} />
    </>
  );
}
