import { DatabaseSync } from "node:sqlite";
import * as fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { modeOf } from "../../../test/support/file-mode.ts";
import { snapshotOf } from "../snapshot.fake.ts";
import type { FinishedTurn } from "./finished-turn.ts";
import { turnFake } from "./history.fake.ts";
import type { SpendDimension, UsageHistory } from "./history.ts";
import { now, openedHistory } from "./opened-history.fake.ts";
import { openHistory } from "./sqlite-history.ts";

const hour = 3_600_000;
const day = 24 * hour;

let file: string;
let history: UsageHistory;

beforeEach(() => {
  ({ file, history } = openedHistory());
});

afterEach(() => history.close());

const spend = (by: SpendDimension, sinceMs = now - 30 * day, timeZone = "UTC") =>
  history.spend({ sinceMs, untilMs: now + hour, by, timeZone });

describe("the usage history", () => {
  it("counts a turn once, also when it is repeated after a restart", () => {
    const turn = turnFake({ turnId: "turn_1", endedAtMs: now });
    expect(history.addTurn(turn)).toBe(true);
    expect(history.addTurn(turn)).toBe(false);
    history.close();
    history = openHistory({ file });
    expect(history.addTurn(turn)).toBe(false);
    expect(spend("model")).toMatchObject([{ key: "claude-opus-4-5", turns: 1, prompt_tokens: 100 }]);
  });

  it.each(["model", "day"] as const)("counts the last quarter of an hour of a day, by %s", (by) => {
    const midnight = now - (now % day);
    history.addTurn(turnFake({ turnId: "turn_1", endedAtMs: midnight - 1 }));
    history.addTurn(turnFake({ turnId: "turn_2", endedAtMs: midnight }));
    const asked = { sinceMs: midnight - day, untilMs: midnight, by, timeZone: "UTC" } as const;
    expect(history.spend(asked)).toMatchObject([{ turns: 1 }]);
  });

  it("makes its file for the user alone", () => {
    expect(modeOf(file, 0o600)).toBe(0o600);
  });

  it("keeps estimates and unknown counts apart from what was measured", () => {
    history.addTurn(turnFake({ turnId: "turn_1", endedAtMs: now }));
    history.addTurn(
      turnFake({ turnId: "turn_2", endedAtMs: now, tokenSource: "estimated", creditsHundredths: undefined }),
    );
    history.addTurn(
      turnFake({
        turnId: "turn_3",
        endedAtMs: now,
        tokenSource: "unknown",
        promptTokens: 0,
        firstTokenMs: undefined,
        outcome: "failed",
      }),
    );
    expect(spend("dialect")).toMatchObject([
      {
        key: "openai-chat",
        turns: 3,
        finished: 2,
        failed: 1,
        prompt_tokens: 200,
        estimated_turns: 1,
        estimated_tokens: 125,
        unknown_turns: 1,
        credits: 2,
        credits_known_turns: 2,
        mean_first_token_ms: 300,
      },
    ]);
  });

  it("adds credits by the price list to each dimension, apart from those that the IDE reported", () => {
    const estimated = { creditsHundredths: undefined, estimatedHundredths: 700 };
    history.addTurn(turnFake({ turnId: "turn_1", endedAtMs: now }));
    history.addTurn(turnFake({ turnId: "turn_2", endedAtMs: now, client: "codex", ...estimated }));
    for (const by of ["project", "model", "day"] as const)
      expect(spend(by)).toMatchObject([
        { turns: 2, credits: 1, credits_known_turns: 1, credits_estimated: 7, credits_estimated_turns: 1 },
      ]);
    expect(spend("client").map(({ key }) => key)).toEqual(["codex", "opencode"]);
    expect(history.turn("turn_2")).toMatchObject(estimated);
    const byCredits = {
      sinceMs: 0,
      untilMs: now + 1,
      order: "credits",
      descending: true,
      offset: 0,
      limit: 9,
    } as const;
    expect(history.turnPage({ ...byCredits, sums: false }).map(({ turnId }) => turnId)).toEqual(["turn_2", "turn_1"]);
    expect(history.turnBars(byCredits, 900_000)[0]?.models).toMatchObject([
      { credits_estimated: 7, credits_estimated_turns: 1 },
    ]);
  });

  it("groups spending by each dimension, the dearest first, with unknown values under no name", () => {
    history.addTurn(turnFake({ turnId: "turn_1", endedAtMs: now, project: undefined, creditsHundredths: 50 }));
    history.addTurn(turnFake({ turnId: "turn_2", endedAtMs: now, client: "codex", creditsHundredths: 400 }));
    expect(spend("project").map(({ key, credits }) => [key, credits])).toEqual([
      ["/home/ada/engine", 4],
      [null, 0.5],
    ]);
    expect(spend("client").map(({ key }) => key)).toEqual(["codex", "opencode"]);
    expect(spend("model", now + hour)).toEqual([]);
  });

  it("begins days at midnight of the time zone, over a change of its clock", () => {
    for (const [index, at] of [
      "2026-10-24T21:59:00Z",
      "2026-10-24T22:01:00Z",
      "2026-10-25T22:59:00Z",
      "2026-10-25T23:01:00Z",
    ].entries())
      history.addTurn(turnFake({ turnId: `turn_${index}`, endedAtMs: Date.parse(at) }));
    expect(spend("day", 0, "Europe/Berlin").map(({ key, turns }) => [key, turns])).toEqual([
      ["2026-10-24", 1],
      ["2026-10-25", 2],
      ["2026-10-26", 1],
    ]);
    expect(() => spend("day", 0, "Mars/Olympus")).toThrow(expect.objectContaining({ code: "invalid_request" }));
  });

  it("has the same sums for every grouping", () => {
    const turn = fc.record({
      endedAtMs: fc.integer({ min: now - 3 * day, max: now }),
      model: fc.constantFrom("a", "b", "c"),
      client: fc.constantFrom("x", "y", undefined),
      project: fc.constantFrom("p", undefined),
      promptTokens: fc.nat(1000),
      tokenSource: fc.constantFrom("measured" as const, "estimated" as const, "unknown" as const),
      creditsHundredths: fc.option(fc.nat(500), { nil: undefined }),
    });
    fc.assert(
      fc.property(fc.array(turn, { maxLength: 40 }), (turns) => {
        const memory = openHistory({ file: ":memory:" });
        for (const [index, part] of turns.entries()) memory.addTurn(turnFake({ ...part, turnId: `turn_${index}` }));
        const total = (by: SpendDimension) => {
          const rows = memory.spend({ sinceMs: now - 4 * day, untilMs: now + 1, by, timeZone: "Asia/Kathmandu" });
          const sum = (of: "turns" | "prompt_tokens" | "credits") => rows.reduce((n, row) => n + row[of], 0);
          return [sum("turns"), sum("prompt_tokens"), Math.round(sum("credits") * 100)];
        };
        const expected = [
          turns.length,
          turns.reduce((sum, part) => sum + part.promptTokens, 0),
          turns.reduce((sum, part) => sum + (part.creditsHundredths ?? 0), 0),
        ];
        for (const by of ["model", "client", "project", "key", "dialect", "day"] as const)
          expect(total(by)).toEqual(expected);
        memory.close();
      }),
      { numRuns: 25 },
    );
  });
});

describe("totals and bars", () => {
  const sinceMs = now - 2 * day;
  const anything = fc.record({
    endedAtMs: fc.integer({ min: sinceMs - hour, max: now + hour }),
    model: fc.constantFrom("a", "b"),
    client: fc.constantFrom("x", undefined),
    outcome: fc.constantFrom("finished" as const, "failed" as const),
    firstTokenMs: fc.option(fc.nat(50), { nil: undefined }),
    creditsHundredths: fc.option(fc.nat(500), { nil: undefined }),
  });

  it("are those of the turns that the filter takes, from the sums of quarters or from turns", () => {
    const filters = [{}, { model: "a" }, { client: "x" }, { outcome: "failed" as const }, { model: "a", client: "x" }];
    fc.assert(
      fc.property(fc.array(anything, { maxLength: 30 }), fc.integer({ min: 0, max: day }), (turns, before) => {
        const memory = openHistory({ file: ":memory:" });
        memory.addTurns(turns.map((part, index) => turnFake({ ...part, turnId: `turn_${index}` })));
        for (const filter of filters) {
          const asked = { ...filter, sinceMs, untilMs: now - before };
          const page = { ...asked, order: "time", descending: true, offset: 0, limit: 99, sums: true } as const;
          const taken = memory.turnPage(page);
          const sum = (of: (turn: FinishedTurn) => number | undefined) =>
            taken.reduce((n, turn) => n + (of(turn) ?? 0), 0);
          expect(memory.turnTotals(asked)).toMatchObject({
            turns: taken.length,
            failed: sum(({ outcome }) => Number(outcome === "failed")),
            credits: sum(({ creditsHundredths }) => creditsHundredths) / 100,
          });
          for (const widthMs of [4 * 900_000, 100_000]) {
            const counts = new Map<number, number>();
            for (const { endedAtMs } of taken) {
              const fromMs = endedAtMs - ((endedAtMs - sinceMs) % widthMs);
              counts.set(fromMs, (counts.get(fromMs) ?? 0) + 1);
            }
            const bars = memory.turnBars(asked, widthMs);
            const shown = bars.map(({ fromMs, models }) => [fromMs, models.reduce((n, { turns: of }) => n + of, 0)]);
            expect(shown).toEqual([...counts].sort(([a], [b]) => a - b));
          }
        }
        memory.close();
      }),
      { numRuns: 25 },
    );
  });

  it("have each model, client and key beside them that ever had a turn", () => {
    expect(history.turnGroups()).toEqual({ model: [], client: [], key: [] });
    history.addTurn(turnFake({ turnId: "turn_1", endedAtMs: now, model: "b", client: undefined, key: "owner" }));
    history.addTurn(turnFake({ turnId: "turn_2", endedAtMs: now - 300 * day, model: "a", client: "codex" }));
    history.addTurn(turnFake({ turnId: "turn_3", endedAtMs: now, model: "a", client: "codex", key: "owner" }));
    expect(history.turnGroups()).toEqual({ model: ["a", "b"], client: ["codex"], key: ["owner"] });
  });
});

describe("readings in the usage history", () => {
  const reading = (readAtMs: number, usedFraction = 0.5, ide: "windsurf" | "antigravity" = "windsurf") =>
    snapshotOf({ readAtMs, usedFraction, resetsAtMs: now + day, windowSeconds: 604_800, ide });

  it("come back as they were, the newest of each IDE first of all", () => {
    history.addSnapshot(reading(now - hour));
    history.addSnapshot(reading(now));
    history.addSnapshot(reading(now));
    history.addSnapshot(reading(now - 5, 0.1, "antigravity"));
    expect(history.latestSnapshots(now - day)).toEqual([reading(now - 5, 0.1, "antigravity"), reading(now)]);
    expect(history.latestSnapshots(now - 1)).toEqual([reading(now)]);
    expect(history.snapshots({ ide: "windsurf", sinceMs: 0, untilMs: now + 1 }).map((s) => s.readAtMs)).toEqual([
      now - hour,
      now,
    ]);
  });

  it("are thinned to one an hour after 7 days and one a day after 60, the last of each; then forgotten with the turns", () => {
    const at = (daysAgo: number, minutes: number) => now - daysAgo * day + minutes * 60_000;
    const kept = [at(500, 0), at(80, 59), at(80, 10), at(20, 30), at(20, 50), at(20, 70), at(1, 0), at(1, 1)];
    for (const atMs of kept) history.addSnapshot(reading(atMs));
    history.addTurn(turnFake({ turnId: "turn_old", endedAtMs: at(401, 0) }));
    history.addTurn(turnFake({ turnId: "turn_new", endedAtMs: at(399, 0) }));
    while (history.sweep(now)) expect(history.turn("turn_new")).toBeDefined();
    expect(history.snapshots({ sinceMs: 0, untilMs: now }).map((s) => s.readAtMs)).toEqual([
      at(80, 59),
      at(20, 50),
      at(20, 70),
      at(1, 0),
      at(1, 1),
    ]);
    expect(spend("model", 0)).toMatchObject([{ turns: 1 }]);
    expect(history.turn("turn_old")).toBeUndefined();
  });

  it("are held against turns of their IDE, and of none", () => {
    history.addTurn(turnFake({ turnId: "turn_1", endedAtMs: now }));
    history.addTurn(turnFake({ turnId: "turn_2", endedAtMs: now, ide: undefined, creditsHundredths: undefined }));
    history.addTurn(turnFake({ turnId: "turn_3", endedAtMs: now, ide: "windsurf-next" }));
    expect(history.explained("windsurf", now - 1, now)).toEqual({ turns: 2, creditsHundredths: 100, unknownTurns: 1 });
    expect(history.explained("windsurf", now, now + 1)).toEqual({ turns: 0, creditsHundredths: 0, unknownTurns: 0 });
    expect(history.explained("antigravity", 0, now)).toEqual({ turns: 0, creditsHundredths: 0, unknownTurns: 0 });
  });
});

it("keeps the name that a model had when it was used, over renames and restarts", () => {
  const used = (turnId: string, modelName: string, endedAtMs: number) =>
    history.addTurn(turnFake({ turnId, model: "MODEL_PRIVATE_2", modelName, endedAtMs }));
  used("turn_1", "gpt-7", now - 10);
  used("turn_2", "gpt-7", now - 5);
  used("turn_3", "grok-9", now);
  history.close();
  history = openHistory({ file });
  expect([...history.modelNames(now)]).toEqual([["MODEL_PRIVATE_2", "gpt-7"]]);
  expect([...history.modelNames(now + 1)]).toEqual([["MODEL_PRIVATE_2", "grok-9"]]);
  expect([...history.modelNames(now - 10)]).toEqual([]);
});

describe("the last use of a model", () => {
  it("is looked up in an index, and of no model that was never used", () => {
    history.addTurn(turnFake({ turnId: "turn_1", endedAtMs: now - day, model: "model-a" }));
    history.addTurn(turnFake({ turnId: "turn_2", endedAtMs: now - 2 * day, model: "model-a" }));
    expect([...history.lastUses(["model-a", "model-b"])]).toEqual([["model-a", now - day]]);
    const db = new DatabaseSync(file);
    const plan = db
      .prepare("EXPLAIN QUERY PLAN SELECT max(ended_at_ms) FROM usage_turns WHERE model = ?")
      .all("model-a");
    db.close();
    expect(JSON.stringify(plan)).toContain("usage_turns_by_model");
  });
});
