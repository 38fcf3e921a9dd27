import { describe, expect, it } from "vitest";
import { antigravitySnapshot } from "./antigravity-plan.ts";
import type { LimitWindow } from "./limits.ts";
import { fixture } from "./snapshot.fake.ts";

const source = {
  ide: "antigravity",
  build: "1.14.2",
  readAtMs: Date.parse("2026-02-24T12:00:00Z"),
  source: "language_server",
} as const;
const read = (userStatus: string | undefined, quotaSummary?: string) =>
  antigravitySnapshot(
    {
      userStatus: userStatus === undefined ? undefined : fixture(userStatus),
      quotaSummary: quotaSummary === undefined ? undefined : fixture(quotaSummary),
    },
    source,
  );
const brief = (windows: readonly LimitWindow[]) =>
  windows.map((w) => [w.id, w.scope, w.state, w.remaining, w.windowSeconds]);

describe("an Antigravity plan by model", () => {
  it("is merged to pools by the worst model of each, and keeps the models", () => {
    const snapshot = read("fractions");
    expect(snapshot).toMatchObject({ shape: "fractions", planName: "Google AI Pro", ...source });
    expect(brief(snapshot.windows)).toEqual([
      ["gemini-5h", "pool", "metered", 75, 18_000],
      ["3p-5h", "pool", "metered", 40, 18_000],
      ["model:gemini-3-pro-high", "model", "metered", 80, 18_000],
      ["model:gemini-3-flash", "model", "metered", 75, 18_000],
      ["model:claude-opus-4.5-thinking", "model", "metered", 40, 18_000],
      ["model:gpt-oss-120b-medium", "model", "metered", 40, 18_000],
    ]);
    expect(snapshot.windows[0]?.resetsAtMs).toBe(Date.parse("2026-02-24T15:23:41Z"));
  });

  it("takes a missing fraction as 0 left, and a reset days away as a weekly window", () => {
    expect(brief(read("fractions-exhausted").windows).slice(0, 2)).toEqual([
      ["gemini-5h", "pool", "metered", 100, 18_000],
      ["3p-weekly", "pool", "metered", 0, 604_800],
    ]);
  });

  it("is unknown when no model is metered", () => {
    expect(read("fractions-unknown")).toMatchObject({ shape: "unknown", windows: [] });
    expect(read(undefined)).toMatchObject({ shape: "unknown", windows: [] });
  });
});

describe("an Antigravity plan in pools", () => {
  it("is read from the quota summary, and the models stay out", () => {
    const snapshot = read("fractions", "pools");
    expect(snapshot).toMatchObject({ shape: "pools", planName: "Google AI Pro" });
    expect(brief(snapshot.windows)).toEqual([
      ["gemini-weekly", "pool", "metered", 55.42142, 604_800],
      ["gemini-5h", "pool", "metered", 100, 18_000],
      ["3p-weekly", "pool", "metered", 25, 604_800],
      ["3p-5h", "pool", "metered", 90, 18_000],
    ]);
    expect(snapshot.windows[2]?.label).toBe("Claude and GPT models, weekly");
  });

  it("is also read bare, with flat fractions; a missing one beside a reset or a block is 0 left", () => {
    expect(brief(read(undefined, "pools-exhausted").windows)).toEqual([
      ["gemini-weekly", "pool", "metered", 50, 604_800],
      ["gemini-5h", "pool", "metered", 0, 18_000],
      ["3p-weekly", "pool", "metered", 0, 604_800],
    ]);
  });

  it("is unknown if a bucket has neither, also for an unknown kind", () => {
    expect(brief(read(undefined, "pools-unknown").windows)).toEqual([
      ["gemini-weekly", "pool", "unknown", undefined, 604_800],
      ["gemini-promotion", "pool", "unknown", undefined, undefined],
    ]);
  });
});

describe("an Antigravity answer", () => {
  it("with a known field of another type is an error that names it", () => {
    const wrong = { userStatus: { cascadeModelConfigData: { clientModelConfigs: [{ quotaInfo: "full" }] } } };
    expect(() => antigravitySnapshot({ userStatus: wrong, quotaSummary: undefined }, source)).toThrow(
      expect.objectContaining({
        code: "upstream_failed",
        message: expect.stringContaining("clientModelConfigs.0.quotaInfo"),
      }),
    );
  });
});
