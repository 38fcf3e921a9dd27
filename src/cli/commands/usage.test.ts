import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { describe, expect, it } from "vitest";
import { temporaryFolder } from "../../../test/support/temporary.ts";
import { MillraceError } from "../../base/errors.ts";
import type { Elsewhere } from "../../usage/elsewhere.ts";
import { type LimitsEnvelope, usageSchema } from "../../usage/envelope.ts";
import { turnFake } from "../../usage/history/history.fake.ts";
import { openHistory } from "../../usage/history/sqlite-history.ts";
import type { PlanAnswer } from "../../usage/plan-answer.ts";
import { antigravityAnswer, fakeLimits, fixtureNowMs, runAt, windsurfAnswer } from "../compose/limits-source.fake.ts";
import { writeLimitsFile } from "../limits/limits-file.ts";
import { usageCommand } from "./usage.ts";

const homeFolder = mkdtempSync(join(tmpdir(), "millrace-usage-"));

async function usage(
  argv: readonly string[],
  answers: readonly PlanAnswer[] | MillraceError = [windsurfAnswer("quota")],
  options: { readonly columns?: number; readonly turns?: number; readonly elsewhere?: Elsewhere } = {},
) {
  const history = openHistory({ file: ":memory:" });
  for (let index = 0; index < (options.turns ?? 0); index++) {
    const project = index % 2 === 0 ? '=SUM("x"), engine' : undefined;
    const tokenSource = index === 0 ? "estimated" : "measured";
    const credits = index === 3 ? { creditsHundredths: undefined } : {};
    history.addTurn(
      turnFake({ turnId: `turn_${index}`, endedAtMs: fixtureNowMs - 1000, project, tokenSource, ...credits }),
    );
  }
  const source = fakeLimits({
    history,
    elsewhere: options.elsewhere,
    answers: () => (answers instanceof MillraceError ? Promise.reject(answers) : Promise.resolve(answers)),
  });
  const result = await runAt(["usage", ...argv], usageCommand(source.open), {
    homeFolder,
    clock: source.clock,
    ...options,
  });
  history.close();
  return result;
}

describe("millrace usage", () => {
  it("shows every IDE's limits with reset and pace in words, without bars off a terminal", async () => {
    const { code, stdout } = await usage([], [windsurfAnswer("quota"), antigravityAnswer("fractions", "pools")]);
    expect(code).toBe(0);
    expect(stdout).toBe(
      [
        "Devin Desktop 2.3 (formerly Windsurf)  Pro · read just now",
        "  Daily quota          38 % used  resets in 12 h            12 % in reserve",
        "  Weekly quota         19 % used  resets in 2 d 12 h        45 % in reserve",
        "  Overage balance  1.20 USD owed",
        "",
        "Antigravity 1.14  Google AI Pro · read just now",
        "  Gemini Models, weekly           44.6 % used  resets in 2 d 21 h        14 % in reserve",
        "  Gemini Models, 5 hours             0 % used  resets in 3 h 23 min      32 % in reserve",
        "  Claude and GPT models, weekly     75 % used  resets in 2 d 21 h        lasts until 25 Feb 20:00",
        "  Claude and GPT models, 5 hours    10 % used  resets in 3 h 23 min      22 % in reserve",
        "",
      ]
        .join("\n")
        .replace("25 Feb 20:00", stdout.match(/lasts until (.*)/)?.[1] ?? ""),
    );
    expect(stdout).toMatch(/lasts until 2[56] Feb \d\d:\d\d/);
  });

  it("draws bars with the even-pace tick on a terminal, and puts the pace below where it is narrow", async () => {
    const { stdout } = await usage([], [windsurfAnswer("quota")], { columns: 120 });
    expect(stdout).toContain(
      "Daily quota      ████████░░│░░░░░░░░░      38 % used  resets in 12 h            12 % in reserve",
    );
    const widest = (text: string) =>
      Math.max(
        ...stripVTControlCharacters(text)
          .split("\n")
          .map((line) => line.length),
      );
    const narrow = await usage([], [windsurfAnswer("quota")], { columns: 80 });
    expect(narrow.stdout).toMatch(/Daily quota {6}████░│░░░░ +38 % used\n {19}resets in 12 h · 12 % in reserve\n/);
    expect(widest(narrow.stdout)).toBeLessThanOrEqual(80);
    for (const columns of [100, 60, 50, 40, 24, 12]) {
      const { stdout: any } = await usage(["--models"], [windsurfAnswer("quota"), antigravityAnswer("fractions")], {
        columns,
      });
      expect(widest(any)).toBeLessThanOrEqual(columns);
    }
  });

  it.each([
    ["credits-unlimited", "8,123 credits used, unlimited"],
    ["credits-exhausted", "507 of 500 credits used"],
    ["credits-unknown", "Prompt credits  unknown"],
    ["quota-unknown", "Weekly quota  unknown"],
    ["no-plan", "did not report the limits of the plan"],
  ])("says what a plan is: %s", async (name, words) => {
    expect((await usage([], [windsurfAnswer(name)])).stdout).toContain(words);
  });

  it("leaves the limits of single models to --models", async () => {
    const answers = [antigravityAnswer("fractions")];
    expect((await usage([], answers)).stdout).not.toContain("GPT-OSS");
    expect((await usage(["--models"], answers)).stdout).toContain("GPT-OSS 120B (Medium)");
  });

  it("prints the API's own JSON", async () => {
    const limits = JSON.parse((await usage(["--json"])).stdout) as LimitsEnvelope;
    expect(limits.data[0]).toMatchObject({ ide: "devin" });
    expect(limits.data[0]?.windows[0]).toMatchObject({ id: "daily", utilization: 0.38 });
  });

  it("exits 69 with the reason when no IDE answers, as JSON too", async () => {
    const error = new MillraceError("ide_not_running", "No IDE with a language server runs.");
    expect(await usage([], error)).toMatchObject({ code: 69, stderr: expect.stringContaining("No IDE with") });
    const json = await usage(["--json"], error);
    expect(JSON.parse(json.stdout)).toMatchObject({ error: { code: "ide_not_running" } });
    expect(await usage([], [])).toMatchObject({ code: 69 });
  });

  it("shows the last reading and its age when the IDE is gone", async () => {
    const folder = temporaryFolder();
    const source = fakeLimits({ answers: () => Promise.resolve([windsurfAnswer("quota")]) });
    const gone = fakeLimits({ answers: () => Promise.reject(new MillraceError("ide_not_running", "No IDE runs.")) });
    const run = (open: typeof source.open, ...argv: readonly string[]) =>
      runAt(["usage", ...argv], usageCommand(open), { homeFolder: folder, clock: gone.clock });
    const { stdout } = await run(source.open, "--json");
    writeLimitsFile(join(folder, ".millrace"), JSON.parse(stdout) as LimitsEnvelope);
    await gone.clock.advance(3 * 3_600_000);
    const shown = await run(gone.open);
    expect(shown.code).toBe(0);
    expect(shown.stdout).toContain("read 3 h ago, may have changed since");
    expect(shown.stderr).toContain("No IDE runs.");
    expect(shown.stderr).toContain("does not answer: its limits were read 3 h ago, and may have changed since.");
    expect((await run(gone.open, "--json")).code).toBe(69);
  });

  it("reports who spent it, marking estimates and what is not known", async () => {
    const { stdout } = await usage(["--since", "7d", "--by", "project"], [], { turns: 4 });
    expect(stdout.split("\n").map((line) => line.replaceAll(/ {2,}/g, " | "))).toEqual([
      "project | turns | failed | prompt | completion | thinking | credits | first token",
      '=SUM("x"), engine | 2 | 0 | ~200 | ~40 | ~10 | 2 | 0.3 s',
      "unknown | 2 | 0 | 200 | 40 | 10 | ≥1 | 0.3 s",
      "total | 4 | 0 | ~400 | ~80 | ~20 | ≥3 | 0.3 s",
      "",
    ]);
  });

  it("reports as JSON", async () => {
    const json = usageSchema.parse(JSON.parse((await usage(["--by", "client", "--json"], [], { turns: 2 })).stdout));
    expect(json).toMatchObject({ by: "client", data: [{ key: "opencode", turns: 2 }] });
  });

  it("says what to do next where there is no history", async () => {
    const { code, stdout, stderr } = await usage(["--since", "7d"]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^No turn ended since 17 Feb \d\d:\d\d\.\n$/);
    expect(stderr).toContain("`millrace setup generic`");
    const day = await usage(["--since", "yesterday", "--until", "today"]);
    expect(day.stdout).toMatch(/^No turn ended since \d+ Feb 00:00, until \d+ Feb 00:00\.\n$/);
    expect(day.stderr).toBe("An earlier --since or a later --until shows more.\n");
  });

  it.each([
    [["--since", "tomorrow"], "is not a time"],
    [["--since", "1d", "--until", "2d"], "--until is not after --since"],
    [["--since", "2026-02-30"], "is not a time"],
    [["--by", "colour"], "one of model, client"],
  ])("refuses %j with 64 and says why", async (argv, words) => {
    expect(await usage(argv)).toMatchObject({ code: 64, stderr: expect.stringContaining(words) });
  });
});
