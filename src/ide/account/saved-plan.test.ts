import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { anyCharacter } from "../../../test/support/any-character.ts";
import { FakeHost } from "../host/host.fake.ts";
import { readSavedPlan, startOfLogFolder } from "./saved-plan.ts";

const never = new AbortController().signal;
const file = "/home/me/.config/Devin/User/globalStorage/state.vscdb";
const about = { variant: "windsurf", build: "3.10.48", file } as const;
const row = (digit: string) => `windsurf.reactSettings.cachedPlanInfoData:user-${digit.repeat(32)}`;

describe("the plan that an app saved", () => {
  it("is read with the time of the app's last start, and without the key beside it", async () => {
    const host = new FakeHost();
    host.states.set(file, {
      [row("a")]: '{"planName":"Pro"}',
      "windsurf.settings.cachedPlanInfo": '{"planName":"Old"}',
      windsurfAuthStatus: JSON.stringify({ apiKey: "cog_planted", userStatusProtoBinaryBase64: "AAEC" }),
      other: "x",
    });
    for (const name of ["20261120T080000", "20261122T093000", "not-a-time", "20261399T000000"])
      host.texts.set(`/home/me/.config/Devin/logs/${name}/main.log`, "");
    const plan = await readSavedPlan(host, about, never);
    expect(plan).toEqual({
      ...about,
      lastStartMs: new Date(2026, 10, 22, 9, 30, 0).getTime(),
      accountRows: ['{"planName":"Pro"}'],
      oldRow: '{"planName":"Old"}',
      userStatus: "AAEC",
    });
    expect(JSON.stringify(plan)).not.toContain("cog_");
  });

  it("has a row for each account, and no time where no log says one", async () => {
    const host = new FakeHost();
    host.states.set(file, { [row("a")]: "1", [row("b")]: "2" });
    expect(await readSavedPlan(host, about, never)).toMatchObject({ lastStartMs: undefined, accountRows: ["1", "2"] });
  });

  it("is nothing where there is no database", async () => {
    expect(await readSavedPlan(new FakeHost(), about, never)).toBeUndefined();
  });
});

it("the name of a log folder is a time that exists, or nothing", () => {
  expect(startOfLogFolder("20260229T120000")).toBeUndefined();
  const property = fc.property(fc.string({ unit: anyCharacter }), (name) => {
    const startedMs = startOfLogFolder(name);
    return startedMs === undefined || Number.isFinite(startedMs);
  });
  expect(() => fc.assert(property)).not.toThrow();
});
