import { expect, it } from "vitest";
import type { TimelineEntry } from "./api.ts";
import { phasesOf, timeByKind } from "./turn-phases.ts";

const at = (type: string, ms: number): TimelineEntry => ({
  id: `${type}-${ms}`,
  type,
  at: new Date(ms).toISOString(),
  characters: 1,
  detail: null,
});

it("gives each stretch of a turn to what it did then", () => {
  const entries = [at("started", 100), at("thinking", 400), at("thinking", 500), at("text", 700), at("tool_call", 900)];
  const phases = phasesOf([...entries, at("usage", 950), at("finished", 1000)], 0, 9999);
  expect(phases.map(({ kind, fromMs, toMs }) => [kind, fromMs, toMs])).toEqual([
    ["waiting", 0, 100],
    ["prompt", 100, 400],
    ["thinking", 400, 700],
    ["text", 700, 900],
    ["tool_call", 900, 1000],
  ]);
});

it("continues to now while the turn runs, and sums what comes again", () => {
  const phases = phasesOf([at("started", 0), at("text", 10), at("tool_call", 20), at("text", 30)], 0, 50);
  expect([...timeByKind(phases)]).toEqual([
    ["prompt", 10],
    ["text", 30],
    ["tool_call", 10],
  ]);
  expect(phasesOf([], 5, 5)).toEqual([]);
});
