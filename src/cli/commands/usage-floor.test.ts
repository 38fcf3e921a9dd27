import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { PlanAnswer } from "../../usage/plan-answer.ts";
import { antigravityAnswer, fakeLimits, runAt, windsurfAnswer } from "../compose/limits-source.fake.ts";
import { usageCommand } from "./usage.ts";

const homeFolder = mkdtempSync(join(tmpdir(), "millrace-guard-"));

/** A check for ten percent, unless the test says how many. */
const floorIn = (argv: readonly string[]) =>
  argv.includes("--min-remaining") ? argv : ["--min-remaining", "10", ...argv];

async function guard(argv: readonly string[], answers: readonly PlanAnswer[]) {
  const source = fakeLimits({ answers: () => Promise.resolve(answers) });
  return runAt(["usage", ...floorIn(argv)], usageCommand(source.open), { homeFolder, clock: source.clock });
}

describe("millrace usage --min-remaining", () => {
  it.each<[readonly string[], string, number]>([
    [["--min-remaining", "15", "--window", "weekly"], "quota", 0],
    [["--min-remaining", "81", "--window", "weekly"], "quota", 0],
    [["--min-remaining", "82", "--window", "weekly"], "quota", 1],
    [[], "quota", 0],
    [[], "quota-exhausted", 1],
    [["--min-remaining", "0"], "quota-exhausted", 0],
    [["--min-remaining", "99"], "credits-unlimited", 0],
    [[], "credits-unknown", 69],
    [[], "no-plan", 69],
    [["--window", "monthly"], "quota", 64],
    [["--ide", "vim"], "quota", 64],
    [["--ide", "antigravity"], "quota", 69],
    [["--min-remaining", "101"], "quota", 64],
  ])("with %j on %s exits %i", async (argv, plan, code) => {
    expect((await guard(argv, [windsurfAnswer(plan)])).code).toBe(code);
  });

  it("exits 69 when no IDE answers", async () => {
    expect(await guard([], [])).toMatchObject({ code: 69 });
  });

  it("names the limits there are when the one asked for does not exist", async () => {
    const { stderr } = await guard(["--window", "monthly"], [windsurfAnswer("quota")]);
    expect(stderr).toContain('There is no limit "monthly".');
    expect(stderr).toContain("There are: daily, weekly, overage.");
  });

  it("looks at every IDE unless told which, and says what it saw", async () => {
    const answers = [windsurfAnswer("quota"), antigravityAnswer("fractions")];
    const { code, stderr } = await guard(["--min-remaining", "50"], answers);
    expect(code).toBe(1);
    expect(stderr).toContain("Devin Desktop 2.3 (formerly Windsurf), weekly: 81 % left, enough.");
    expect(stderr).toContain("Antigravity 1.14, 3p-5h: 40 % left, less than 50 %.");
    expect((await guard(["--min-remaining", "50", "--ide", "devin"], answers)).code).toBe(0);
  });

  it("prints JSON", async () => {
    const { stdout } = await guard(["--json", "--window", "weekly"], [windsurfAnswer("quota")]);
    expect(JSON.parse(stdout)).toEqual({
      data: [
        {
          ide: "devin",
          product: "Devin Desktop 2.3 (formerly Windsurf)",
          window: "weekly",
          remaining_percent: 81,
          enough: true,
          age_seconds: 0,
        },
      ],
    });
  });
});
