import type { TimelineEntry } from "./api.ts";

export type PhaseKind = "waiting" | "prompt" | "thinking" | "text" | "tool_call";

/** A stretch of a turn's time in which it did one thing. Epoch ms. */
export interface Phase {
  readonly kind: PhaseKind;
  readonly fromMs: number;
  readonly toMs: number;
}

/**
 * What a turn did and when: it waits until its prompt is sent, then for the model, then each kind of output stands for its time. An
 * output that comes at one moment belongs to the time before it; the phase begins when its first event was seen.
 */
export function phasesOf(entries: readonly TimelineEntry[], createdMs: number, nowMs: number): readonly Phase[] {
  const phases: Phase[] = [];
  let [kind, fromMs]: [PhaseKind, number] = ["waiting", createdMs];
  const turnTo = (next: PhaseKind, atMs: number) => {
    if (next === kind) return;
    if (atMs > fromMs) phases.push({ kind, fromMs, toMs: atMs });
    [kind, fromMs] = [next, Math.max(fromMs, atMs)];
  };
  for (const { type, at } of entries) {
    const atMs = Date.parse(at);
    if (type === "started") turnTo("prompt", atMs);
    else if (type === "thinking" || type === "tool_call" || type === "text") turnTo(type, atMs);
    else if (type === "rewritten") turnTo("text", atMs);
    else if (type === "finished" || type === "failed" || type === "cancelled") {
      if (atMs > fromMs) phases.push({ kind, fromMs, toMs: atMs });
      return phases;
    }
  }
  if (nowMs > fromMs) phases.push({ kind, fromMs, toMs: nowMs });
  return phases;
}

/** How long each kind took in all, in the order in which they came first. */
export function timeByKind(phases: readonly Phase[]): ReadonlyMap<PhaseKind, number> {
  const times = new Map<PhaseKind, number>();
  for (const { kind, fromMs, toMs } of phases) times.set(kind, (times.get(kind) ?? 0) + toMs - fromMs);
  return times;
}
