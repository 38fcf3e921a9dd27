import { useCallback, useMemo, useRef } from "preact/hooks";
import type { Alert } from "./alerts.tsx";
import { api } from "./api.ts";
import { useData } from "./use-data.ts";
import { modelName, reasonInWords } from "./words.ts";

const lookEveryMs = 60_000;

/** The turns that failed since this page was opened, as alerts. */
export function useFailures(): { readonly alerts: readonly Alert[]; readonly lookAgain: () => void } {
  const openedAt = useRef(new Date().toISOString());
  const { data, reload } = useData(
    "failures",
    (signal) =>
      api.turnPage(
        { since: openedAt.current, status: "failed", sort: "time", order: "desc", limit: "5", totals: "0" },
        signal,
      ),
    lookEveryMs,
  );
  const alerts = useMemo(
    () =>
      (data?.data ?? []).map((turn) => ({
        id: turn.id,
        title: `A turn failed: ${reasonInWords(turn.reason)}`,
        text: `${modelName(turn)}${turn.client === null ? "" : `, asked by ${turn.client}`}.`,
      })),
    [data],
  );
  return { alerts, lookAgain: useCallback(reload, [reload]) };
}
