import { describe, expect, it } from "vitest";
import { limitsSchema } from "../../src/usage/envelope.ts";
import { millrace } from "../support/gateway-process.ts";
import { temporaryHome } from "../support/home.ts";
import { simulator } from "../support/world.ts";

describe("the meter, with real processes and no gateway", () => {
  it("reads the plan of the IDE that runs, answers guard, and leaves a status line", async () => {
    const home = temporaryHome();
    await simulator({ home });
    const env = { MILLRACE_IDE_ONLY_HOME: home };
    const usage = await millrace(["usage", "--json"], { home, env });
    expect(usage).toMatchObject({ code: 0 });
    const [windsurf] = limitsSchema.parse(JSON.parse(usage.stdout)).data;
    expect(windsurf).toMatchObject({ ide: "windsurf", stale: false });
    expect(windsurf?.windows.length).toBeGreaterThan(0);
    expect((await millrace(["guard", "--min-remaining", "1"], { home, env })).code).toBe(0);
    expect((await millrace(["guard", "--window", "nonsense"], { home, env })).code).toBe(64);
    expect((await millrace(["statusline"], { home })).stdout).toMatch(/^Windsurf /);
  });

  it("says that none runs, with exit code 69", async () => {
    const home = temporaryHome();
    const env = { MILLRACE_IDE_ONLY_HOME: home };
    expect(await millrace(["usage"], { home, env })).toMatchObject({ code: 69, stdout: "" });
    expect((await millrace(["guard"], { home, env })).code).toBe(69);
    expect((await millrace(["statusline"], { home: temporaryHome() })).code).toBe(69);
  });
});
