import { expect, test } from "vitest";
import type { EventId, TurnId } from "../../base/ids.ts";
import type { OutlinedEvent } from "../../log/event.ts";
import { turnTimeline } from "./turn-timeline.ts";

test("the timeline of an ended turn that its client sealed is in its row: nobody can open its events after a restart", async () => {
  const outline: readonly OutlinedEvent[] = [
    { type: "text", characters: 3, eventId: "1" as EventId, atMs: 1 },
    { type: "finished", reason: { unified: "stop", raw: undefined }, characters: 3, eventId: "2" as EventId, atMs: 2 },
  ] as never; // as far as the timeline reads them
  const closed = () => {
    throw new Error("sealed");
  };
  const turn = { turnId: "t" as TurnId, sealed: true as const, outline };
  const shown: string[] = [];
  const { signal } = new AbortController();
  for await (const { data } of turnTimeline({ turns: { follow: closed, outline: closed } }, turn, () => false, signal))
    shown.push(data);
  expect(shown.map((data) => (JSON.parse(data) as { readonly type: string }).type)).toEqual(["text", "finished"]);
});
