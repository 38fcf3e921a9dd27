import { describe, expect, it } from "vitest";
import type { TimelineEntry, TurnDetail } from "./api.ts";
import { soFar } from "./turn-so-far.ts";

const running = {
  status: "running",
  created_at: "2026-01-02T10:00:00.000Z",
  characters: 0,
  first_token_ms: null,
} as Partial<TurnDetail> as TurnDetail; // only these are read

function entry(type: string, atMs: number, characters: number | null): TimelineEntry {
  const at = new Date(Date.parse(running.created_at) + atMs).toISOString();
  return { id: `e${atMs}`, type, at, characters, detail: null };
}

describe("the figures of a running turn", () => {
  it("come from the events that were read", () => {
    const read = [entry("started", 5, null), entry("thinking", 700, 24), entry("text", 900, 36), entry("text", 950, 4)];
    expect(soFar(running, read)).toEqual({ ...running, characters: 64, first_token_ms: 700 });
  });

  it("are those of the summary before the first output, and after the end", () => {
    expect(soFar(running, [entry("started", 5, null)])).toBe(running);
    const ended = { ...running, status: "ended", characters: 9 } as const;
    expect(soFar(ended, [entry("text", 900, 36)])).toBe(ended);
  });
});
