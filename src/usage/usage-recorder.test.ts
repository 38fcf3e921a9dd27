import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Emitter } from "../base/emitter.ts";
import { MillraceError } from "../base/errors.ts";
import type { TurnId } from "../base/ids.ts";
import { until } from "../base/wait.fake.ts";
import { asking, type FakeTurns, fakeTurns } from "../turns/turns.fake.ts";
import type { UsageHistory } from "./history/history.ts";
import { openHistory } from "./history/sqlite-history.ts";
import type { UsageLifecycle } from "./lifecycle.ts";
import { type Meter, openMeter } from "./meter.ts";
import { openUsageRecorder, type UsageRecorder } from "./usage-recorder.ts";

const never = new AbortController().signal;
let fake: FakeTurns;
let history: UsageHistory;
let meter: Meter;
let problems: unknown[];
let events: Emitter<UsageLifecycle>;
let recorder: UsageRecorder;

beforeEach(() => {
  fake = fakeTurns();
  history = openHistory({ file: ":memory:" });
  meter = openMeter({ readPlan: () => Promise.resolve([]), history, clock: fake.clock });
  problems = [];
  events = new Emitter();
  events.on("usage_unrecorded", ({ error }) => problems.push(error));
});

afterEach(async () => {
  await recorder.stop();
  await fake.turns.stop();
  history.close();
});

function open(): UsageRecorder {
  recorder = openUsageRecorder({ turns: fake.turns, meter, events });
  return recorder;
}

describe("the usage recorder", () => {
  it("records a turn when it ends, once", async () => {
    const { turnId } = await fake.turns.start(asking({ client: "codex/2", project: "engine" }), never);
    const opened = open();
    opened.watch(turnId);
    opened.watch(turnId);
    await until(() => fake.backend.answers.length === 1);
    const counts = { promptTokens: 9, completionTokens: 4, thinkingTokens: 0 };
    fake.backend.last.text("Hel", "lo");
    fake.backend.last.emit({ type: "usage", ...counts, creditsHundredths: 25, estimated: false });
    expect(history.turn(turnId)).toBeUndefined();
    fake.backend.last.finish("Hello");
    await until(() => history.turn(turnId) !== undefined);
    expect(history.turn(turnId)).toMatchObject({
      client: "codex",
      project: "engine",
      model: "some-model",
      ...counts,
      tokenSource: "measured",
      creditsHundredths: 25,
      outcome: "finished",
    });
    expect(problems).toEqual([]);
  });

  it("notes the price of a turn where the IDE reports no credits, unless it failed", async () => {
    const prices = new Map([["some-model", 1.5]]);
    recorder = openUsageRecorder({ turns: fake.turns, meter, events, priceOf: (uid) => prices.get(uid) });
    const start = async (fingerprint: string) => {
      const { turnId } = await fake.turns.start(asking({ fingerprint }), never);
      recorder.watch(turnId);
      await until(() => fake.backend.answers.filter(({ closed }) => !closed).length === 1);
      return turnId;
    };
    const recorded = async (turnId: TurnId) => {
      await until(() => history.turn(turnId) !== undefined);
      return history.turn(turnId);
    };
    const priced = await start("a");
    fake.backend.last.finish("a");
    expect(await recorded(priced)).toMatchObject({ creditsHundredths: undefined, estimatedHundredths: 150 });
    const failed = await start("b");
    fake.backend.last.emit({ type: "failed", error: new MillraceError("upstream_failed", "It broke.").toRecord() });
    fake.backend.last.end();
    expect(await recorded(failed)).not.toHaveProperty("estimatedHundredths");
  });

  it("catches up with turns that ended while none ran, and counts none twice", async () => {
    const ids: TurnId[] = [];
    for (const fingerprint of ["a", "b"]) {
      ids.push((await fake.turns.start(asking({ fingerprint }), never)).turnId);
      await until(() => fake.backend.answers.length === ids.length);
      fake.backend.last.finish(fingerprint);
    }
    await until(() => fake.backend.answers.every(({ closed }) => closed));
    open();
    await until(() => ids.every((id) => history.turn(id) !== undefined));
    await recorder.stop();
    open();
    await recorder.stop();
    const now = fake.clock.now();
    const [row] = history.spend({ sinceMs: now - 3_600_000, untilMs: now + 1, by: "model", timeZone: "UTC" });
    expect(row).toMatchObject({ turns: 2 });
  });

  it("leaves a turn that runs to the next start when it stops", async () => {
    const { turnId } = await fake.turns.start(asking(), never);
    open().watch(turnId);
    await until(() => fake.backend.answers.length === 1);
    await recorder.stop();
    expect(history.turn(turnId)).toBeUndefined();
    fake.backend.last.finish("late");
    open();
    await until(() => history.turn(turnId) !== undefined);
  });

  it("reports a problem and continues", async () => {
    const gone = () => Promise.reject(new Error("gone"));
    recorder = openUsageRecorder({
      turns: { getLabel: gone, list: gone, untilEnded: async () => {} },
      meter,
      events,
    });
    recorder.watch("turn_1" as TurnId); // any id will do
    await until(() => problems.length === 2);
    expect(problems).toEqual([new Error("gone"), new Error("gone")]);
  });
});
