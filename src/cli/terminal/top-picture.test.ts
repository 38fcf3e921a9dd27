import { describe, expect, it } from "vitest";
import { displayWidth } from "./display-width.ts";
import { type TopReading, topPicture } from "./top-picture.ts";
import type { Turn } from "./turn-list.ts";

const turn = (part: Partial<Turn>): Turn => ({
  id: "turn_01KXYZ0000000000000000000A",
  status: "running",
  model: "claude-sonnet-4.6",
  client: "claude-cli/2.1.0",
  dialect: "anthropic-messages",
  created_at: "2026-11-22T12:00:00.000Z",
  last_event_id: "7",
  ...part,
});

const now: TopReading = {
  atMs: Date.parse("2026-11-22T12:01:00.000Z"),
  url: "http://127.0.0.1:42100",
  paused: false,
  backend: "Cascade: the build answers over Cascade and has no agent program of its own",
  running: 2,
  waiting: 1,
  lagSeconds: 0.004,
  ended: 30,
  failed: 1,
  tokens: 9_000,
  turnLimit: undefined,
  storeWeak: [],
  limits: undefined,
  turns: [turn({ status: "finished", model: "gpt-5" }), turn({ model: "swe-1.6" })],
};
const screen = (columns: number, isTerminal = true) => ({
  columns,
  isTerminal,
  style: (_: unknown, text: string) => text,
});

describe("the picture of top", () => {
  it.each([40, 80, 120])("fits %i columns, and keeps status and model", (columns) => {
    const lines = topPicture(now, undefined, screen(columns));
    for (const line of lines) expect(displayWidth(line)).toBeLessThanOrEqual(columns);
    expect(lines.join("\n")).toMatch(/STATUS.*MODEL/);
    expect(lines.join("\n")).toContain("swe-1.6");
  });

  it("is whole in a pipe, and lists running turns first", () => {
    const text = topPicture(now, undefined, screen(40, false)).join("\n");
    expect(text).toContain("turn_01KXYZ0000000000000000000A");
    expect(text).toContain("claude-cli/2.1.0");
    expect(text.indexOf("swe-1.6")).toBeLessThan(text.indexOf("gpt-5"));
    expect(text).toContain("2 running · 1 waiting · 30 ended · 1 failed · lag 4 ms");
  });

  it("tells rates between two readings of one gateway only", () => {
    const before = { ...now, atMs: now.atMs - 2_000, ended: 28, tokens: 8_800 };
    expect(topPicture(now, before, screen(120)).join("\n")).toContain("60 turns/min · 100 tokens/s · lag 4 ms");
    expect(topPicture(now, { ...before, ended: 31 }, screen(120)).join("\n")).not.toContain("turns/min");
  });

  it("says that prompts are paused", () => {
    expect(topPicture({ ...now, paused: true }, undefined, screen(80))[0]).toContain("PAUSED");
  });
});
