import { describe, expect, it } from "vitest";
import type { Resumption, TimelineEntry } from "./api.ts";
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
const came = (how: Resumption["how"], second: number, part: Partial<Resumption> = {}): Resumption => ({
  how,
  at: at(second),
  after: "0",
  client: "opencode/1.2.3",
  ...part,
});
const said = (...rows: Parameters<typeof rowsOf>) => rowsOf(...rows).map(({ type, words }) => `${type}: ${words}`);

describe("the rows of a turn's page", () => {
  it("write numbers and reasons as the rest of the page does", () => {
    const entries = [
      entry("a1", "usage", 0, { detail: "1719 in, 31 out" }),
      entry("a2", "cancelled", 1, { detail: "client" }),
    ];
    expect(said(entries, [])).toEqual(["usage: 1,719 in, 31 out", "cancelled: by the client"]);
  });

  it("put deltas that follow each other together, and tools apart by name", () => {
    const entries = [
      entry("a1", "started", 0, { detail: "opus, cascade" }),
      entry("a2", "text", 1),
      entry("a3", "text", 2),
      entry("a4", "tool_call", 3, { detail: "read", characters: 4 }),
      entry("a5", "tool_call", 4, { detail: "write", characters: 1 }),
    ];
    expect(said(entries, [])).toEqual([
      "opened: opus, cascade",
      "accepted: the prompt: the answer began",
      "text: 20 characters in 2 deltas",
      "tool call: read, 4 characters",
      "tool call: write, 1 character",
    ]);
  });

  it("put who came back where it happened, between the deltas, with how and from where", () => {
    const entries = [entry("a1", "text", 1), entry("a2", "text", 3), entry("a3", "text", 5)];
    const returns = [
      came("last_event_id", 4, { after: "a2" }),
      came("adopted", 2, { after: "a1", client: null }),
      came("key", 9, { client: null }),
      came("cursor", 10, { after: "#12" }),
      came("implicit", 11),
      came("cursor", 12, { after: "gone" }),
    ];
    expect(said(entries, returns)).toEqual([
      "text: 10 characters",
      "adopted: by a gateway, after the process that ran it had ended, after event 1",
      "text: 10 characters",
      "resumed: opencode/1.2.3, by Last-Event-ID, after event 2",
      "text: 10 characters",
      "joined: a client without a name, with the same idempotency key, from the start",
      "resumed: opencode/1.2.3, from a cursor, after sequence number 12",
      "joined: opencode/1.2.3, with the same request, from the start",
      "resumed: opencode/1.2.3, from a cursor, after an event that it had",
    ]);
    expect(new Set(rowsOf(entries, returns).map(({ id }) => id)).size).toBe(9);
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
