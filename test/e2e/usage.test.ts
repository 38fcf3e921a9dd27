import { describe, expect, it } from "vitest";
import type { LimitsEnvelope } from "../../src/usage/envelope.ts";
import { millrace } from "../support/gateway-process.ts";
import { temporaryHome } from "../support/home.ts";
import { simulator } from "../support/world.ts";

describe("the meter, with real processes and no gateway", () => {
  it("reads the plan of the IDE that runs, answers guard, and leaves a status line", async () => {
    const home = temporaryHome();
    await simulator({ home });
    const env = { MILLRACE_IDE_ONLY_HOME: home };
    let stdout = "";
    // One reading has a limit of time, which a busy machine can exceed while the IDE starts.
    await expect
      .poll(async () => {
        const usage = await millrace(["usage", "--json"], { home, env });
        stdout = usage.stdout;
        return usage.code;
      })
      .toBe(0);
    const [windsurf] = (JSON.parse(stdout) as LimitsEnvelope).data;
    expect(windsurf).toMatchObject({ ide: "devin", stale: false });
    expect(windsurf?.windows.length).toBeGreaterThan(0);
    expect((await millrace(["usage", "--min-remaining", "1"], { home, env })).code).toBe(0);
    expect((await millrace(["usage", "--min-remaining", "1", "--window", "nonsense"], { home, env })).code).toBe(64);
    expect((await millrace(["statusline"], { home })).stdout).toMatch(/^Windsurf /);
  });

  it("says that none runs, with exit code 69", async () => {
    const home = temporaryHome();
    const env = { MILLRACE_IDE_ONLY_HOME: home };
    expect(await millrace(["usage"], { home, env })).toMatchObject({ code: 69, stdout: "" });
    expect((await millrace(["usage", "--min-remaining", "1"], { home, env })).code).toBe(69);
    expect((await millrace(["statusline"], { home: temporaryHome() })).code).toBe(69);
  });
});
