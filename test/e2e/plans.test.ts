import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { type RunningGateway, startGateway } from "../../src/cli/gateway-process/start-gateway.ts";
import { main } from "../../src/cli/main.ts";
import { fakeIo } from "../../src/cli/terminal/io.fake.ts";
import { type LimitsOfIde, limitsSchema, usageSchema } from "../../src/usage/envelope.ts";
import { temporaryHome } from "../support/home.ts";
import { ask, openai, patienceMs, simulator } from "../support/world.ts";

type Ide = LimitsOfIde["ide"];

/** A user's home with stand-in IDEs in it, each a process of its own; commands run here, and read their plans anew. */
function openHome() {
  const home = temporaryHome();
  const env = { MILLRACE_IDE_ONLY_HOME: home, PATH: process.env["PATH"] ?? "" };
  async function millrace(...argv: readonly string[]) {
    const io = fakeIo({ homeFolder: home, env });
    const code = await main(argv, io);
    return { code, stdout: io.written.stdout(), stderr: io.written.stderr() };
  }
  return {
    home,
    millrace,
    /** What `usage --json` says of one IDE, its windows by id. */
    limits: async (ide: Ide) => {
      const { stdout } = await millrace("usage", "--json");
      const of = limitsSchema.parse(JSON.parse(stdout)).data.find((one) => one.ide === ide);
      return { ...of, windows: Object.fromEntries((of?.windows ?? []).map((window) => [window.id, window])) };
    },
    guard: async (...argv: readonly string[]) => (await millrace("guard", ...argv)).code,
    gateway: async (): Promise<RunningGateway> => {
      const started = await startGateway({ homeFolder: home, env, storeFile: join(home, ".millrace", "turns.db") });
      onTestFinished(() => started.close());
      return started;
    },
  };
}

async function served({ url, key }: RunningGateway, path: string): Promise<unknown> {
  return (await fetch(`${url}${path}`, { headers: { authorization: `Bearer ${key}` } })).json();
}

describe("the plans of real processes", () => {
  it("in credits and in fractions for each model, both at once: read, drained by a turn, exhausted, unlimited, unknown", async () => {
    const user = openHome();
    const { home, guard, limits, millrace } = user;
    const [windsurf, antigravity] = await Promise.all([
      simulator({ home, plan: { shape: "credits", used: 40 } }),
      simulator({ home, profile: "antigravity", plan: { shape: "fractions", used: 60 } }),
    ]);
    const gateway = await user.gateway();
    const first = limitsSchema.parse(await served(gateway, "/v1/limits"));
    expect(first.errors).toEqual([]);
    expect(first.data.map(({ ide, shape, stale }) => [ide, shape, stale])).toEqual([
      ["windsurf", "credits", false],
      ["antigravity", "fractions", false],
    ]);
    expect(first.data[0]?.windows[0]).toMatchObject({ id: "prompt-credits", used: 200, limit: 500, remaining: 300 });
    const pools = (await limits("antigravity")).windows;
    expect(pools).toMatchObject({ "gemini-5h": { used: 60 }, "3p-5h": { used: 30 } });
    expect(pools["model:gemini-3-flash"]).toMatchObject({ scope: "model", remaining: 40 });
    expect(pools["model:gemini-2.5-flash-lite"]).toBeUndefined();
    expect((await millrace("statusline")).stdout).toMatch(/^Windsurf credits 300\b.*Antigravity gemini 5h 40%/);
    expect(await guard("--ide", "antigravity", "--window", "3p-5h", "--min-remaining", "70")).toBe(0);
    expect(await guard("--window", "prompt-credits", "--min-remaining", "61")).toBe(1);

    const headers = { "x-millrace-project": "mill" };
    await openai(gateway).chat.completions.create({ ...ask("Hi"), model: "claude-opus-4.7-high" }, { headers });
    // The turn's end marks the reading stale; the next reading has its cost, and the history who it was.
    await expect
      .poll(async () => limitsSchema.parse(await served(gateway, "/v1/limits?wait=0")).data.map(({ stale }) => stale), {
        timeout: patienceMs,
      })
      .toEqual([true, true]);
    expect((await limits("windsurf")).windows["prompt-credits"]).toMatchObject({ used: 208, remaining: 292 });
    const report = usageSchema.parse(JSON.parse((await millrace("usage", "--by", "project", "--json")).stdout));
    expect(report.data).toMatchObject([{ key: "mill", turns: 1, credits: 8, credits_known_turns: 1 }]);
    expect(report.used_outside).toMatchObject([{ ide: "windsurf", lost: 8, used_outside: 0, bound: "exact" }]);

    await antigravity.spend({ model: "Gemini 3 Flash", credits: 5 });
    expect((await limits("antigravity")).windows["model:gemini-3-flash"]).toMatchObject({ remaining: 35 });

    await Promise.all([
      windsurf.setPlan({ shape: "credits", used: 100 }),
      antigravity.setPlan({ shape: "fractions", used: 100 }),
    ]);
    expect((await limits("windsurf")).windows["prompt-credits"]).toMatchObject({
      remaining: 0,
      utilization: 1,
      pace: { verdict: "exhausted" },
    });
    expect(await guard("--ide", "antigravity", "--min-remaining", "1")).toBe(1);
    await Promise.all([
      windsurf.setPlan({ shape: "credits", unlimited: true, used: 10 }),
      antigravity.setPlan({ shape: "fractions", unknown: true }),
    ]);
    expect((await limits("windsurf")).windows["prompt-credits"]).toMatchObject({ state: "unlimited", limit: null });
    expect(await guard("--ide", "windsurf", "--min-remaining", "100")).toBe(0);
    expect(await limits("antigravity")).toMatchObject({ shape: "unknown", windows: {} });
    expect(await guard("--ide", "antigravity")).toBe(69);
    await windsurf.setPlan({ shape: "credits", unknown: true });
    expect(await limits("windsurf")).toMatchObject({ shape: "unknown", windows: {} });
    expect((await millrace("usage")).stdout).toContain("The IDE did not report the limits of the plan.");
  });

  it("in percent and in pools, both at once: read, drained by a turn, a hidden day, overage, one IDE gone", async () => {
    const user = openHome();
    const { home, guard, limits, millrace } = user;
    const [next, antigravity] = await Promise.all([
      simulator({ home, profile: "windsurf-next", plan: { shape: "percent", used: 40, usedWeekly: 10 } }),
      simulator({ home, profile: "antigravity", plan: { shape: "pools", used: 60, usedWeekly: 20 } }),
    ]);
    const gateway = await user.gateway();
    const first = limitsSchema.parse(await served(gateway, "/v1/limits"));
    expect(first.data.map(({ ide, shape }) => [ide, shape])).toEqual([
      ["windsurf-next", "quota"],
      ["antigravity", "pools"],
    ]);
    expect(first.data[0]?.windows.map(({ id, remaining }) => [id, remaining])).toEqual([
      ["daily", 60],
      ["weekly", 90],
      ["overage", 0],
    ]);
    expect(first.data[1]?.windows.map(({ id, remaining }) => [id, remaining])).toEqual([
      ["gemini-5h", 40],
      ["gemini-weekly", 80],
      ["3p-5h", 70],
      ["3p-weekly", 80],
    ]);
    await openai(gateway).chat.completions.create({ ...ask("Hi"), model: "claude-opus-4.7-high" });
    await antigravity.spend({ model: "Claude Opus 4.6 (Thinking)", credits: 20 });
    expect((await limits("antigravity")).windows).toMatchObject({
      "gemini-5h": { remaining: 40 },
      "3p-5h": { remaining: 50 },
      "3p-weekly": { remaining: 75 },
    });
    expect((await limits("windsurf-next")).windows).toMatchObject({
      daily: { remaining: 52 },
      weekly: { remaining: 88 },
    });
    const report = usageSchema.parse(JSON.parse((await millrace("usage", "--by", "model", "--json")).stdout));
    expect(report.used_outside).toMatchObject([{ ide: "windsurf-next", window: "weekly", bound: "unknown" }]);

    await next.setPlan({ shape: "percent", used: 100, hideDaily: true, overageMicros: -1_200_000 });
    const { windows } = await limits("windsurf-next");
    expect(Object.keys(windows)).toEqual(["weekly", "overage"]);
    expect(windows["overage"]).toMatchObject({ kind: "balance", unit: "usd", remaining: -1.2, pace: null });
    expect(await guard("--window", "daily")).toBe(64);
    expect((await millrace("statusline", "--ide", "windsurf-next", "--window", "overage")).stdout).toContain(
      "-1.2 usd",
    );
    await antigravity.stop();
    const usage = await millrace("usage", "--json");
    const [, gone] = limitsSchema.parse(JSON.parse(usage.stdout)).data;
    expect(gone).toMatchObject({ ide: "antigravity", stale: true });
    await next.setPlan({ shape: "percent", unknown: true });
    expect(await guard("--ide", "windsurf-next")).toBe(69);
  });
});
