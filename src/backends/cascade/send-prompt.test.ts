import { expect, test } from "vitest";
import type { Clock } from "../../base/clock.ts";
import { MillraceError } from "../../base/errors.ts";
import { CascadeRunStatus } from "../../proto/windsurf/exa/cortex_pb.ts";
import { emptyAnswer } from "../answer-diff.ts";
import { defaultPace } from "./poll-schedule.ts";
import { wasAccepted } from "./send-prompt.ts";
import type { startProgress } from "./turn-progress.ts";

/** Looks at a server that shows the prompt from its nth look on, and takes so long for each look. `updated`: it knows the other way only. */
async function look({
  showsAt,
  lookMs,
  updated = false,
}: {
  readonly showsAt: number;
  readonly lookMs: number;
  readonly updated?: boolean;
}) {
  let nowMs = 0;
  let looks = 0;
  const sleep = async (ms: number) => void (nowMs += ms);
  const clock = { now: () => nowMs, monotonic: () => nowMs, sleep } as unknown as Clock;
  const follower = {
    read: async () => {
      nowMs += lookMs;
      looks++;
    },
    follow: (state: { readonly progress: ReturnType<typeof startProgress> }) => {
      const view = { ...state.progress.view, prompted: looks >= showsAt };
      return { state: { progress: { ...state.progress, view } }, events: [] };
    },
  };
  const server = { getStatus: async () => ({ status: CascadeRunStatus.IDLE, executors: [] }) };
  const settings = { clock, pace: defaultPace, acceptGraceMs: 1_000 };
  const options = { onAlive: () => {} };
  const missing = async () => {
    throw new MillraceError("upstream_failed", "unknown", { details: { reason: "not_implemented" } });
  };
  const turn = {
    follower: updated ? { ...follower, read: missing } : follower,
    otherwise: follower,
    start: { fresh: false, fromStep: 0, sent: emptyAnswer },
    cascadeId: "c",
    current: { server },
    settings,
    options,
  };
  const answer = await wasAccepted(turn as unknown as Parameters<typeof wasAccepted>[0], new AbortController().signal);
  return { answer, looks, nowMs };
}

test("a prompt that shows late was accepted, also where each look takes longer than the wait", async () => {
  expect(await look({ showsAt: 4, lookMs: 1_500 })).toMatchObject({ answer: "accepted", looks: 4 });
  expect(await look({ showsAt: 10, lookMs: 1 })).toMatchObject({ answer: "accepted", looks: 10 });
});

test("a prompt is absent after four looks and a second, and not before both", async () => {
  expect(await look({ showsAt: Infinity, lookMs: 1_500 })).toMatchObject({ answer: "absent", looks: 4 });
  const fast = await look({ showsAt: Infinity, lookMs: 1 });
  expect(fast.answer).toBe("absent");
  expect(fast.nowMs).toBeGreaterThanOrEqual(1_000);
});

test("a server that was updated before the prompt showed is looked at the other way", async () => {
  expect(await look({ showsAt: 4, lookMs: 1, updated: true })).toMatchObject({ answer: "accepted", looks: 4 });
});
