import { useMemo, useRef } from "preact/hooks";
import type { TurnRowEnvelope } from "../../src/usage/turn-page-envelope.ts";
import type { Alert } from "./alerts.tsx";
import { api } from "./api.ts";
import { useTurnEnd } from "./live-turns.ts";
import { alertsAreOn } from "./settings.ts";
import { useData } from "./use-data.ts";
import { modelName, reasonInWords } from "./words.ts";

const lookEveryMs = 60_000;

/** The latest failures. */
export interface Failures {
  /** Of the last seven days. */
  readonly last: TurnRowEnvelope | undefined;
  /** Those since this page was opened. */
  readonly alerts: readonly Alert[];
}

export function useFailures(): Failures {
  const openedAt = useRef(new Date().toISOString());
  const { data, reload } = useData(
    "failures",
    (signal) =>
      api.turnPage({ since: "7d", status: "failed", sort: "time", order: "desc", limit: "5", totals: "0" }, signal),
    lookEveryMs,
    alertsAreOn,
  );
  useTurnEnd(reload, undefined, alertsAreOn);
  const failed = data?.data;
  const alerts = useMemo(
    () =>
      (failed ?? [])
        .filter(({ ended_at }) => ended_at >= openedAt.current)
        .map((turn) => ({
          id: turn.id,
          title: `A turn failed: ${reasonInWords(turn.reason)}`,
          text: `${modelName(turn)}${turn.client === null ? "" : `, asked by ${turn.client}`}.`,
        })),
    [failed],
  );
  return { last: failed?.[0], alerts };
}
