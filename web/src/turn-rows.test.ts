import { describe, expect, it } from "vitest";
import type { TimelineEntry } from "./api.ts";
import { answerOf, rowsOf } from "./turn-rows.ts";

const at = (second: number) => new Date(second * 1000).toISOString();
const entry = (id: string, type: string, second: number, part: Partial<TimelineEntry> = {}): TimelineEntry => ({
  id,
  type,
  at: at(second),
  characters: type === "text" ? 10 : null,
  detail: null,
  ...part,
});
const said = (...rows: Parameters<typeof rowsOf>) => rowsOf(...rows).map(({ type, words }) => `${type}: ${words}`);

describe("the rows of a turn's page", () => {
  it("write numbers and reasons as the rest of the page does", () => {
    const entries = [
      entry("a1", "usage", 0, { detail: "1719 in, 31 out" }),
      entry("a2", "cancelled", 1, { detail: "client" }),
    ];
    expect(said(entries)).toEqual([`usage: ${(1719).toLocaleString()} in, 31 out`, "cancelled: by the client"]);
  });

  it("put deltas that follow each other together, and tools apart by name", () => {
    const entries = [
      entry("a1", "started", 0, { detail: "opus, cascade" }),
      entry("a2", "text", 1),
      entry("a3", "text", 2),
      entry("a4", "tool_call", 3, { detail: "read", characters: 4 }),
      entry("a5", "tool_call", 4, { detail: "write", characters: 1 }),
    ];
    expect(said(entries)).toEqual([
      "opened: opus, cascade",
      "accepted: the prompt: the answer began",
      "text: 20 characters in 2 deltas",
      "tool call: read, 4 characters",
      "tool call: write, 1 character",
    ]);
  });
});

describe("the answer on a turn's page", () => {
  it("is what the deltas make, with what was rewritten, and nothing where texts are not shown", () => {
    const entries = [
      entry("a1", "thinking", 1, { text: "hm" }),
      entry("a2", "text", 2, { text: "Hello wrold" }),
      entry("a3", "rewritten", 3, { text: "Hello world" }),
      entry("a4", "text", 4, { text: "!" }),
    ];
    expect(answerOf(entries)).toEqual({ text: "Hello world!", thinking: "hm" });
    const bare = ["thinking", "text", "rewritten"].map((type, index) => entry(`a${index}`, type, index));
    expect(answerOf(bare)).toEqual({ text: "", thinking: "" });
  });
});
