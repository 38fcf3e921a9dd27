import { z } from "zod";
import { ideName } from "../base/ide-name.ts";
import { iso } from "./envelope.ts";
import type { LimitsSnapshot } from "./limits.ts";

/** How each limit was used over time, as JSON for a chart: points of epoch seconds and the share used, null if unknown. */
export const limitsHistorySchema = z.object({
  object: z.literal("limits.history"),
  since: z.string(),
  data: z.array(
    z.object({
      ide: z.string(),
      window: z.string(),
      label: z.string(),
      points: z.array(z.tuple([z.number(), z.number().nullable()])),
    }),
  ),
});

export type LimitsHistoryEnvelope = z.infer<typeof limitsHistorySchema>;

/** More points than this make a line no finer. */
const mostPoints = 1000;

/** Readings, in order of time, as one line for each limit of a plan or pool. `sinceMs` (epoch ms) is the requested start. */
export function encodeLimitsHistory(readings: readonly LimitsSnapshot[], sinceMs: number): LimitsHistoryEnvelope {
  const lines = new Map<string, { ide: string; window: string; label: string; points: [number, number | null][] }>();
  for (const snapshot of readings) {
    for (const window of snapshot.windows) {
      if (window.scope === "model" || window.kind === "balance" || window.state === "unlimited") continue;
      const key = `${snapshot.ide} ${window.id}`;
      const line = lines.get(key) ?? { ide: ideName(snapshot.ide), window: window.id, label: window.label, points: [] };
      lines.set(key, line);
      line.label = window.label;
      line.points.push([Math.round(snapshot.readAtMs / 1000), window.utilization ?? null]);
    }
  }
  const data = [...lines.values()].map((line) => ({ ...line, points: thinned(line.points) }));
  return { object: "limits.history", since: iso(sinceMs), data };
}

/** At most so many points; of each stretch the last one, and always the very last. */
function thinned<T>(points: readonly T[]): T[] {
  const step = Math.ceil(points.length / mostPoints);
  return points.filter((_, index) => (points.length - 1 - index) % step === 0);
}
