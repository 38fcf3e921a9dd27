import { expect, test } from "vitest";
import { FakeClock } from "../../base/clock.fake.ts";
import { MillraceError } from "../../base/errors.ts";
import type { TurnId } from "../../base/ids.ts";
import type { NewTurn } from "../../log/store.ts";
import { openFallbackHistory } from "../../usage/history/fallback-history.ts";
import { turnFake } from "../../usage/history/history.fake.ts";
import { openHistory } from "../../usage/history/sqlite-history.ts";
import { memoryUsage } from "../../usage/shared/shared-usage.fake.ts";
import { sharingHistory } from "../../usage/shared/sharing-history.ts";
import { keyAdmission } from "./key-admission.ts";
import { KeyBudgets, periodAt } from "./key-budget.ts";
import type { KeyLimits, KeyRecord } from "./key-record.ts";
import { parseApis, parseBudget, parseExpiry } from "./parse-limits.ts";

const noon = new Date(2026, 10, 22, 12).getTime();

function admission(limits: Partial<KeyLimits>) {
  const clock = new FakeClock(noon);
  const history = openHistory({ file: ":memory:", keepDays: 400 });
  const key: KeyRecord = { id: "1", name: "ci", createdAtMs: 0, salt: "s", hash: "", models: [], apis: [], ...limits };
  let degradedBy: MillraceError | undefined;
  const budgets = new KeyBudgets({
    history: {
      spend: (query) => history.spend(query),
      turn: (turnId) => history.turn(turnId),
      get degradedBy() {
        return degradedBy;
      },
    },
    clock,
  });
  const held = keyAdmission({
    keys: { keyOf: (caller) => (caller === "ci" ? key : undefined) },
    budgets,
    nameOf: (uid) => (uid === "uid-sonnet" ? "claude-sonnet-4.6" : uid),
  });
  const admit = (turn: NewTurn) => held.admit(turn);
  let turns = 0;
  const turn = (part: Partial<NewTurn> = {}) =>
    ({
      turnId: `turn_${++turns}` as TurnId,
      caller: "ci",
      dialect: "openai-chat",
      modelUid: "uid-sonnet",
      request: { model: "sonnet" },
      ...part,
    }) as NewTurn; // what is looked at
  const end = (turnId: string, used: Partial<Parameters<typeof turnFake>[0]> = {}) =>
    history.addTurn(turnFake({ turnId, endedAtMs: clock.now(), key: "ci", ...used }));
  const fail = (error: MillraceError | undefined) => (degradedBy = error);
  return { admit, turn, end, fail, clock, budgets, key };
}

test("a key is held to its models, by name, UID or the name that was asked for, and to its APIs", () => {
  for (const model of ["claude-sonnet-4.6", "uid-sonnet", "sonnet", "Claude-Sonnet-4.6"])
    expect(() => admission({ models: [model] }).admit(admission({}).turn())).not.toThrow();
  const other = admission({ models: ["opus"], apis: ["anthropic-messages"] });
  expect(() => other.admit(other.turn({ dialect: "anthropic-messages" }))).toThrow(
    expect.objectContaining({
      code: "model_not_allowed",
      message: expect.stringContaining("claude-sonnet-4.6"),
      hint: "It may use: opus.",
    }),
  );
  expect(() => other.admit(other.turn({ modelUid: "opus" }))).toThrow(/may not use this API \(openai-chat\)/);
  expect(() => other.admit(other.turn({ caller: "the owner" }))).not.toThrow();
});

test("a budget of turns counts those that ended and those that run, and a refusal names the reset", async () => {
  const { admit, turn, end } = admission({ budget: { most: 3, unit: "turns", period: "day" } });
  end("turn_before");
  void admit(turn());
  const withdraw = admit(turn());
  const midnight = new Date(2026, 10, 23).getTime();
  expect(() => admit(turn())).toThrow(
    expect.objectContaining({
      code: "quota_exhausted",
      message: "The key ci has used its 3 turns for today.",
      hint: expect.stringContaining(new Date(midnight).toISOString()),
      resetsAtMs: midnight,
    }),
  );
  (await withdraw)();
  expect(() => admit(turn())).not.toThrow();
});

test("a turn that ended is counted once, and another key's not at all", () => {
  const { admit, turn, end } = admission({ budget: { most: 2, unit: "turns", period: "day" } });
  const first = turn();
  void admit(first);
  end(first.turnId);
  end("turn_of_another", { key: "ada" });
  end("turn_of_the_owner", { key: "owner" });
  expect(() => admit(turn())).not.toThrow();
  expect(() => admit(turn())).toThrow(/has used its/);
});

test("a budget starts again at the local midnight, or on the first of the month", async () => {
  for (const [period, ms] of [
    ["day", 12 * 3_600_000],
    ["month", 8.5 * 86_400_000],
  ] as const) {
    const { admit, turn, end, clock } = admission({ budget: { most: 1, unit: "turns", period } });
    end("turn_before");
    expect(() => admit(turn())).toThrow(/has used its/);
    await clock.advance(ms - 1);
    expect(() => admit(turn())).toThrow(/has used its/);
    await clock.advance(1);
    expect(() => admit(turn())).not.toThrow();
  }
  expect(periodAt("month", noon)).toEqual({
    sinceMs: new Date(2026, 10, 1).getTime(),
    untilMs: new Date(2026, 11, 1).getTime(),
  });
});

test("tokens and credits are counted once a turn has ended", () => {
  const tokens = admission({ budget: { most: 125, unit: "tokens", period: "month" } });
  tokens.end("a", { promptTokens: 100, completionTokens: 20, thinkingTokens: 4 });
  expect(() => tokens.admit(tokens.turn())).not.toThrow();
  tokens.end("b", { promptTokens: 1, completionTokens: 0, thinkingTokens: 0 });
  expect(() => tokens.admit(tokens.turn())).toThrow(/used its 125 tokens for this month/);
  const credits = admission({ budget: { most: 1.5, unit: "credits", period: "day" } });
  credits.end("a", { creditsHundredths: 149 });
  expect(() => credits.admit(credits.turn())).not.toThrow();
  credits.end("b", { creditsHundredths: 1 });
  expect(() => credits.admit(credits.turn())).toThrow(/used its 1.5 credits for today/);
});

test("a budget of tokens counts what ended on another gateway before the start of the next turn", async () => {
  const budget = { most: 100, unit: "tokens", period: "day" } as const;
  const key: KeyRecord = { id: "1", name: "ci", createdAtMs: 0, salt: "s", hash: "", models: [], apis: [], budget };
  const clock = new FakeClock(noon);
  const open = memoryUsage();
  const gateway = () => {
    const file = openHistory({ file: ":memory:", keepDays: 400 });
    const shared = open();
    const history = sharingHistory({ history: openFallbackHistory({ open: () => file, clock }), shared, clock });
    return { history, budgets: new KeyBudgets({ history, clock, shared }) };
  };
  const [a, b] = [gateway(), gateway()];
  await b.budgets.hold(key, "turn_1" as TurnId);
  a.history.addTurn(turnFake({ turnId: "turn_2", endedAtMs: clock.now(), key: "ci", promptTokens: 100 }));
  await a.history.catchUp(); // it has told
  await expect(b.budgets.hold(key, "turn_3" as TurnId)).rejects.toMatchObject({ code: "quota_exhausted" });
});

test("while the shared store cannot be asked, a key with a budget of tokens has to wait", async () => {
  const { key } = admission({ budget: { most: 100, unit: "tokens", period: "day" } });
  const clock = new FakeClock(noon);
  const history = {
    ...openHistory({ file: ":memory:", keepDays: 400 }),
    catchUp: () => Promise.reject(new MillraceError("degraded", "The server is gone.")),
  };
  const budgets = new KeyBudgets({ history, clock, shared: memoryUsage()() });
  await expect(budgets.hold(key, "turn_1" as TurnId)).rejects.toMatchObject({ code: "unavailable" });
});

test("a turn that an earlier process began counts as well", () => {
  const { admit, turn, budgets, key } = admission({ budget: { most: 1, unit: "turns", period: "day" } });
  budgets.count(key, "turn_adopted" as TurnId);
  expect(() => admit(turn())).toThrow(expect.objectContaining({ code: "quota_exhausted" }));
});

test("while the history fails, a key with a budget has to wait, and one without is served", () => {
  const limited = admission({ budget: { most: 5, unit: "turns", period: "day" } });
  limited.fail(new MillraceError("degraded", "The disk is full."));
  expect(() => limited.admit(limited.turn())).toThrow(expect.objectContaining({ code: "unavailable" }));
  limited.fail(undefined);
  expect(() => limited.admit(limited.turn())).not.toThrow();
  const free = admission({});
  free.fail(new MillraceError("degraded", "The disk is full."));
  expect(() => free.admit(free.turn())).not.toThrow();
});

test("limits are read as people write them", () => {
  expect(parseBudget("50 turns/day")).toEqual({ most: 50, unit: "turns", period: "day" });
  expect(parseBudget("2_000_000 tokens per month")).toEqual({ most: 2_000_000, unit: "tokens", period: "month" });
  expect(parseBudget("1 turn a day")).toEqual({ most: 1, unit: "turns", period: "day" });
  for (const wrong of ["50", "0 turns/day", "5 prompts/day", "5 turns/year", "-1 turns/day"])
    expect(() => parseBudget(wrong)).toThrow(/is not a budget/);
  expect(parseExpiry("30d", noon)).toBe(noon + 30 * 86_400_000);
  expect(parseExpiry("2026-11-22", noon)).toBe(new Date(2026, 10, 23).getTime());
  for (const wrong of ["2026-11-21", "2026-02-31", "soon", "0"])
    expect(() => parseExpiry(wrong, noon)).toThrow(/is not/);
  expect(parseApis(["idempotent"])).toEqual(["idempotent"]);
  expect(() => parseApis(["soap"])).toThrow(/not an API/);
});

test("what a key has used of its budget can be shown, with what runs, and as unknown where the history cannot be read", () => {
  const { admit, turn, end, fail, budgets, key } = admission({ budget: { most: 3, unit: "turns", period: "day" } });
  const resetsAtMs = new Date(2026, 10, 23).getTime();
  end("turn_before");
  void admit(turn());
  expect(budgets.standing(key)).toEqual({ used: 2, resetsAtMs });
  fail(new MillraceError("degraded", "The file is locked."));
  expect(budgets.standing(key)).toEqual({ used: undefined, resetsAtMs });
  const { budget: _budget, ...free } = key;
  expect(budgets.standing(free)).toBeUndefined();
});
