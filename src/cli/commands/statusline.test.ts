import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { modeOf } from "../../../test/support/file-mode.ts";
import { temporaryFolder } from "../../../test/support/temporary.ts";
import { FakeClock } from "../../base/clock.fake.ts";
import { encodeLimits } from "../../usage/envelope.ts";
import { windsurfFixture } from "../../usage/snapshot.fake.ts";
import { windsurfSnapshot } from "../../usage/windsurf-plan.ts";
import { fixtureNowMs, runAt } from "../compose/limits-source.fake.ts";
import { lastAsked, limitsFile, writeLimitsFile } from "../limits/limits-file.ts";
import { statuslineFast } from "../statusline-fast.ts";
import { statuslineCommand } from "./statusline.ts";

let homeFolder: string;
let folder: string;

beforeEach(() => {
  homeFolder = temporaryFolder();
  folder = join(homeFolder, ".millrace");
});

function written(): void {
  const source = { ide: "windsurf", build: "2.3.15", readAtMs: fixtureNowMs, source: "language_server" } as const;
  const snapshot = windsurfSnapshot(windsurfFixture("quota"), source);
  const reading = { snapshot, paces: [], expiresAtMs: fixtureNowMs + 1, stale: false };
  writeLimitsFile(folder, encodeLimits({ nowMs: fixtureNowMs, readings: [reading], errors: [] }));
}

const statusline = (...argv: readonly string[]) =>
  runAt(["statusline", ...argv], statuslineCommand, { homeFolder, clock: new FakeClock(fixtureNowMs) });
const fast = (...argv: readonly string[]) => statuslineFast(argv, { env: {}, homeFolder, nowMs: fixtureNowMs });

describe("millrace statusline", () => {
  it("draws the gateway's limits file, which only the user can read, and notes that it was read", async () => {
    written();
    expect(modeOf(limitsFile(folder), 0o600)).toBe(0o600);
    expect(lastAsked(folder)).toBeUndefined();
    expect(await statusline()).toEqual({
      code: 0,
      stdout: "Devin daily 62% resets in 12 h · weekly 81%\n",
      stderr: "",
    });
    expect(lastAsked(folder)).toBe(fixtureNowMs);
  });

  it("exits 69 and prints nothing where a bar would show it, before a gateway has run", async () => {
    expect(await statusline()).toMatchObject({
      code: 69,
      stdout: "",
      stderr: expect.stringContaining("millrace serve"),
    });
  });

  it("takes a broken file for none", async () => {
    written();
    writeFileSync(limitsFile(folder), "{");
    expect(await statusline()).toMatchObject({ code: 69 });
  });

  it("refuses a format or placeholder that does not exist with 64", async () => {
    written();
    expect(await statusline("--format", "xmobar")).toMatchObject({ code: 64, stderr: expect.stringContaining("tmux") });
    expect(await statusline("--template", "{colour}")).toMatchObject({ code: 64 });
  });

  it("refuses an IDE or a limit that does not exist with 64, and is merely empty for an IDE that does not run", async () => {
    written();
    expect(await statusline("--ide", "emacs")).toMatchObject({
      code: 64,
      stdout: "",
      stderr: expect.stringContaining("antigravity"),
    });
    expect(await statusline("--window", "monthly")).toMatchObject({
      code: 64,
      stdout: "",
      stderr: expect.stringContaining("daily, weekly"),
    });
    expect(await statusline("--ide", "antigravity", "--window", "gemini-5h")).toEqual({
      code: 0,
      stdout: "",
      stderr: "",
    });
  });
});

describe("the short way to a status line", () => {
  it("gives the same line as the command", async () => {
    written();
    for (const argv of [[], ["--format", "tmux"], ["--template={left}", "--window", "weekly"], ["--ide=antigravity"]]) {
      const { stdout } = await statusline(...argv);
      expect(fast(...argv)).toBe(stdout.replace(/\n$/, ""));
    }
  });

  it("leaves help, mistakes and failures to the command", () => {
    expect(fast()).toBeUndefined();
    written();
    for (const argv of [
      ["--help"],
      ["--format", "xmobar"],
      ["--template", "{colour}"],
      ["--window"],
      ["--ide", "emacs"],
      ["--window", "monthly"],
      ["extra"],
    ])
      expect(fast(...argv)).toBeUndefined();
  });
});
