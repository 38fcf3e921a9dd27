import { create, toBinary } from "@bufbuild/protobuf";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { anyCharacter } from "../../test/support/any-character.ts";
import { isMillraceError } from "../base/errors.ts";
import { UserStatusSchema } from "../proto/windsurf/exa/codeium_common_pb.ts";
import { parsePlan, parseStatus, type SavedPlanRows, savedPlanSnapshot } from "./saved-plan.ts";
import { windsurfFixture } from "./snapshot.fake.ts";

const nowMs = Date.UTC(2026, 10, 22, 12);
const hourMs = 3_600_000;
const unix = (hours: number) => (nowMs + hours * hourMs) / 1000;
const about = { ide: "windsurf", build: "3.10.48" } as const;
const paid = {
  planName: "Pro",
  billingStrategy: "quota",
  dailyRemainingPercent: 75,
  weeklyRemainingPercent: 40,
  dailyResetAtUnix: unix(20),
  weeklyResetAtUnix: unix(100),
  hideDailyQuota: false,
  hideWeeklyQuota: false,
  overageBalanceMicros: 2_500_000,
  remainingMessages: -1,
};

function rowsOf(plan: unknown, part: Partial<SavedPlanRows> = {}): SavedPlanRows {
  return {
    lastStartMs: nowMs - hourMs,
    accountRows: [JSON.stringify(plan)],
    oldRow: undefined,
    userStatus: undefined,
    ...part,
  };
}

function read(plan: unknown, part: Partial<SavedPlanRows> = {}) {
  return savedPlanSnapshot(rowsOf(plan, part), about, nowMs);
}

function refusal(plan: unknown, part: Partial<SavedPlanRows> = {}): string {
  try {
    read(plan, part);
  } catch (error) {
    if (isMillraceError(error)) return error.message;
    throw error;
  }
  return "none";
}

describe("a saved plan", () => {
  it("of a paid account has the daily and the weekly share, the balance and no message pool", () => {
    const snapshot = read(paid);
    expect(snapshot).toMatchObject({
      source: "saved_plan",
      readAtMs: nowMs - hourMs,
      shape: "quota",
      planName: "Pro",
      build: "3.10.48",
    });
    expect(snapshot.windows).toMatchObject([
      { id: "daily", remaining: 75, resetsAtMs: nowMs + 20 * hourMs, windowSeconds: 86_400 },
      { id: "weekly", remaining: 40, resetsAtMs: nowMs + 100 * hourMs },
      { id: "overage", kind: "balance", unit: "usd", remaining: 2.5 },
    ]);
  });

  it("of a free account has a pool of messages, and no share that the plan does not have", () => {
    const free = { isDevinFree: true, remainingMessages: 5, totalMessages: 25, dailyRemainingPercent: -1 };
    expect(read(free)).toMatchObject({
      planName: "Free",
      windows: [{ id: "messages", unit: "messages", used: 20, limit: 25, remaining: 5, utilization: 0.8 }],
    });
    expect(read({ remainingMessages: 0 }).windows).toMatchObject([{ remaining: 0, limit: undefined, utilization: 1 }]);
  });

  it("of an older build is read from its own row", () => {
    const old = JSON.stringify({
      planName: "Pro",
      quotaUsage: { weeklyRemainingPercent: 10, weeklyResetAtUnix: `${unix(9)}` },
    });
    expect(read({}, { accountRows: [], oldRow: old }).windows).toMatchObject([{ id: "weekly", remaining: 10 }]);
  });

  it("hides what the app hides", () => {
    expect(read({ ...paid, hideDailyQuota: true }).windows.map(({ id }) => id)).toEqual(["weekly", "overage"]);
  });

  it("loses a limit that has reset since, and all of it when none is left", () => {
    const reset = { ...paid, dailyResetAtUnix: unix(-1) };
    expect(read(reset).windows.map(({ id }) => id)).toEqual(["weekly", "overage"]);
    expect(refusal({ ...reset, weeklyResetAtUnix: unix(-1) })).toContain("its limits have reset since");
  });

  it("is believed to the minute where the clocks of app and gateway are five minutes apart at most", () => {
    expect(read(paid, { lastStartMs: nowMs + 300_000 }).planName).toBe("Pro");
    expect(refusal(paid, { lastStartMs: nowMs + 300_001 })).toContain("in the future");
  });

  it.each([
    ["older than a day", { lastStartMs: nowMs - 25 * hourMs }, "the app wrote it 1 d 1 h ago"],
    ["without a time", { lastStartMs: undefined }, "nothing says when"],
    ["from the future", { lastStartMs: nowMs + hourMs }, "in the future"],
    ["of several accounts", { accountRows: ["{}", "{}"] }, "plans of 2 accounts, and nothing says which"],
    ["that is no JSON", { accountRows: ["{"] }, "none that Millrace can read"],
    ["that is empty", { accountRows: ["{}"] }, "it tells no limit"],
  ] as const)("%s is not shown, and says why", (_, part, why) => {
    expect(refusal(paid, part)).toContain(why);
  });

  it("of several accounts is that of the status, which is of the account that is signed in", () => {
    const status = windsurfFixture("quota");
    const plan = status.planStatus;
    if (plan === undefined) throw new Error("the fixture has a plan");
    plan.dailyQuotaResetAtUnix = BigInt(unix(5));
    plan.weeklyQuotaResetAtUnix = BigInt(unix(-5));
    const userStatus = Buffer.from(toBinary(UserStatusSchema, status)).toString("base64");
    const snapshot = read(paid, { accountRows: ["{}", "{}"], userStatus });
    expect(snapshot.source).toBe("saved_plan");
    expect(snapshot.windows.map(({ id }) => id)).toContain("daily");
    expect(snapshot.windows.map(({ id }) => id)).not.toContain("weekly");
    expect(JSON.stringify(snapshot)).not.toContain(status.email);
  });

  it("keeps nothing in its record that the plan does not consist of", () => {
    const snapshot = read({ ...paid, email: "ada@example.com", apiKey: "cog_planted" });
    expect(JSON.stringify(snapshot)).not.toMatch(/ada@|cog_/);
  });
});

describe("what an app wrote", () => {
  it("never crashes the reader, and makes no number outside of its range", () => {
    const value = fc.oneof(fc.integer(), fc.double(), fc.string(), fc.boolean(), fc.constant(null), fc.object());
    const plan = fc.record(
      Object.fromEntries([...Object.keys(paid), "totalMessages", "quotaUsage"].map((key) => [key, value])),
      {
        requiredKeys: [],
      },
    );
    fc.assert(
      fc.property(fc.oneof(plan, fc.anything()), fc.string({ unit: anyCharacter }), (row, text) => {
        parsePlan(text);
        parseStatus(text);
        let windows: ReturnType<typeof read>["windows"] = [];
        try {
          windows = savedPlanSnapshot(
            { ...rowsOf(row), accountRows: [JSON.stringify(row) ?? text], userStatus: text },
            about,
            nowMs,
          ).windows;
        } catch (error) {
          if (!isMillraceError(error)) throw error;
        }
        const shares = windows.flatMap(({ utilization }) => utilization ?? []);
        return shares.every((share) => share >= 0 && share <= 1);
      }),
    );
    expect(() => parsePlan("")).not.toThrow();
  });

  it("is a status only where it has the form of one", () => {
    const bytes = Buffer.from(toBinary(UserStatusSchema, create(UserStatusSchema, { pro: true }))).toString("base64");
    expect(parseStatus(bytes)?.pro).toBe(true);
    expect(parseStatus("////")).toBeUndefined();
  });
});
