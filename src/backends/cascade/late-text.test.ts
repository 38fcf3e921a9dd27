import { expect, test } from "vitest";
import type { CascadeTurn, FollowerState } from "./follower.ts";
import { readAnswerNow } from "./late-text.ts";
import { emptyView, type TurnView } from "./turn-view.ts";

/** The text of a server whose readings come in so many pieces. */
async function readIn(pieces: number, view: Partial<TurnView> = {}) {
  let reads = 0;
  const shown = { ...emptyView, answer: { text: "All of it", thinking: "" }, ...view };
  const state = () => ({ progress: { view: shown }, mustReread: reads < pieces });
  const turn = {
    follower: { start: state, read: async () => reads++, follow: () => ({ state: state() }) },
    start: {},
    current: {},
  };
  const asked = turn as unknown as CascadeTurn<FollowerState, unknown>; // what a late look uses of it
  return { text: await readAnswerNow(asked, () => 0, new AbortController().signal), reads };
}

test("a late look reads an answer until it is of one piece, four times at most", async () => {
  expect(await readIn(1)).toEqual({ text: "All of it", reads: 1 });
  expect(await readIn(4)).toEqual({ text: "All of it", reads: 4 });
  expect(await readIn(5)).toEqual({ text: undefined, reads: 4 });
});

test("a late look has no text where another message follows, or the answer cannot be shown whole", async () => {
  expect((await readIn(1, { overtaken: true })).text).toBeUndefined();
  expect((await readIn(1, { cut: true })).text).toBeUndefined();
});
