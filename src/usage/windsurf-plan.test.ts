import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { UserStatusSchema } from "../proto/windsurf/exa/codeium_common_pb.ts";
import type { LimitWindow } from "./limits.ts";
import { windsurfFixture } from "./snapshot.fake.ts";
import { windsurfSnapshot } from "./windsurf-plan.ts";

const source = {
  ide: "windsurf",
  build: "2.3.15",
  readAtMs: Date.parse("2026-02-24T12:00:00Z"),
  source: "language_server",
} as const;
const read = (name: string) => windsurfSnapshot(windsurfFixture(name), source);
const brief = (windows: readonly LimitWindow[]) =>
  windows.map((w) => [w.id, w.state, w.used, w.limit, w.remaining, w.utilization]);

describe("a Windsurf plan in credits", () => {
  it("is read in whole credits from hundredths, with the cycle as its window", () => {
    const snapshot = read("credits");
    expect(snapshot).toMatchObject({ shape: "credits", planName: "Pro", ...source });
    expect(brief(snapshot.windows)).toEqual([
      ["prompt-credits", "metered", 123.5, 500, 376.5, 0.247],
      ["flex-credits", "metered", 0, 300, 300, 0],
    ]);
    expect(snapshot.windows[0]).toMatchObject({
      kind: "consumption",
      unit: "credits",
      resetsAtMs: Date.parse("2026-03-01T00:00:00Z"),
      windowSeconds: 28 * 86_400,
    });
    expect(snapshot.windows[1]?.resetsAtMs).toBeUndefined();
  });

  it("takes an absent use beside a grant as nothing used", () => {
    expect(brief(read("credits-fresh").windows)).toEqual([["prompt-credits", "metered", 0, 500, 500, 0]]);
  });

  it("has nothing left, not less than nothing, when more was used than granted", () => {
    expect(brief(read("credits-exhausted").windows)).toEqual([["prompt-credits", "metered", 507, 500, 0, 1]]);
  });

  it("is unlimited when the grant is negative, and still shows the use", () => {
    expect(brief(read("credits-unlimited").windows)).toEqual([
      ["prompt-credits", "unlimited", 8123, undefined, undefined, undefined],
    ]);
  });

  it("is unknown when no number of credits is there at all", () => {
    const snapshot = read("credits-unknown");
    expect(snapshot.shape).toBe("unknown");
    expect(brief(snapshot.windows)).toEqual([
      ["prompt-credits", "unknown", undefined, undefined, undefined, undefined],
    ]);
  });
});

describe("a Windsurf plan in percent", () => {
  it("has a daily and a weekly window and an overage balance that may be owed", () => {
    const snapshot = read("quota");
    expect(snapshot.shape).toBe("quota");
    expect(brief(snapshot.windows)).toEqual([
      ["daily", "metered", 38, 100, 62, 0.38],
      ["weekly", "metered", 19, 100, 81, 0.19],
      ["overage", "metered", undefined, undefined, -1.200958, undefined],
    ]);
    expect(snapshot.windows.map((w) => w.resetsAtMs)).toEqual([1_771_977_600_000, 1_772_150_400_000, undefined]);
    expect(snapshot.windows.map((w) => w.windowSeconds)).toEqual([86_400, 604_800, undefined]);
    expect(snapshot.windows[2]).toMatchObject({ kind: "balance", unit: "usd" });
  });

  it("takes an absent percentage beside its reset time as 0 left", () => {
    expect(brief(read("quota-exhausted").windows)[0]).toEqual(["daily", "metered", 100, 100, 0, 1]);
  });

  it("leaves a hidden daily quota out", () => {
    expect(brief(read("quota-hidden-daily").windows)).toEqual([
      ["weekly", "metered", 95, 100, 5, 0.95],
      ["overage", "metered", undefined, undefined, 25, undefined],
    ]);
  });

  it("is unknown, not 0, without percentage and reset", () => {
    expect(brief(read("quota-unknown").windows)).toEqual([
      ["daily", "unknown", undefined, undefined, undefined, undefined],
      ["weekly", "unknown", undefined, undefined, undefined, undefined],
    ]);
  });

  it("is read from its fields if the billing strategy is missing", () => {
    const userStatus = create(UserStatusSchema, { planStatus: { weeklyQuotaResetAtUnix: 1_772_150_400n } });
    expect(windsurfSnapshot(userStatus, source)).toMatchObject({
      shape: "quota",
      windows: [{ state: "unknown" }, { id: "weekly", remaining: 0 }, { id: "overage" }],
    });
  });
});

describe("a Windsurf answer without a plan", () => {
  it("is unknown and has no windows", () => {
    expect(read("no-plan")).toMatchObject({ shape: "unknown", planName: undefined, windows: [] });
  });
});
