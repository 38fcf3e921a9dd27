import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { type RunningGateway, startGateway } from "../../src/cli/compose/start-gateway.ts";
import { main } from "../../src/cli/main.ts";
import { fakeIo } from "../../src/cli/terminal/io.fake.ts";
import { type LimitsEnvelope, limitsSchema, usageSchema } from "../../src/usage/envelope.ts";
import { temporaryHome } from "../support/home.ts";
import { ask, openai, patienceMs, simulator } from "../support/world.ts";

/** A user's home with stand-in IDEs in it, each a process of its own. Commands run here, each beside a new gateway that reads the plans anew. */
function openHome() {
  const home = temporaryHome();
  const env = { MILLRACE_IDE_ONLY_HOME: home, PATH: process.env["PATH"] ?? "" };
  let folder = "";
  async function millraceIn(own: string, ...argv: readonly string[]) {
    const io = fakeIo({ homeFolder: home, env: { ...env, MILLRACE_HOME: own } });
    const code = await main(argv, io);
    return { code, stdout: io.written.stdout(), stderr: io.written.stderr() };
  }
  async function millrace(...argv: readonly string[]) {
    folder = temporaryHome();
    const beside = await startGateway({ homeFolder: home, env: { ...env, MILLRACE_HOME: folder } });
    const ran = await millraceIn(folder, ...argv);
    await beside.close();
    return ran;
  }
  return {
    home,
    millrace,
    /** From what the last of these gateways read. */
    statusline: (...argv: readonly string[]) => millraceIn(folder, "statusline", ...argv),
    /** Of the turns of `gateway`. */
    usageBy: (by: string) => millraceIn(join(home, "gateway"), "usage", "--by", by, "--json"),
    /** What `usage --json` says of one IDE, its windows by id. */
    limits: async (ide: "devin" | "devin-next" | "antigravity") => {
      const { stdout } = await millrace("usage", "--json");
      const of = (JSON.parse(stdout) as LimitsEnvelope).data.find((one) => (one.ide as string) === ide);
      return { ...of, windows: Object.fromEntries((of?.windows ?? []).map((window) => [window.id, window])) };
    },
    /** The exit code of `usage --min-remaining`. */
    enough: async (...argv: readonly string[]) => (await millrace("usage", ...argv)).code,
    gateway: async (): Promise<RunningGateway> => {
      const own = { ...env, MILLRACE_HOME: join(home, "gateway") };
      const started = await startGateway({
        homeFolder: home,
        env: own,
        storeFile: join(home, ".millrace", "turns.db"),
      });
      onTestFinished(() => started.close());
      return started;
    },
  };
}

async function served({ url, key }: RunningGateway, path: string): Promise<unknown> {
  return (await fetch(`${url}${path}`, { headers: { authorization: `Bearer ${key}` } })).json();
}

/** The first reading that no IDE misses: one reading has a limit of time, which a busy machine can exceed while the IDEs start. */
async function firstReading(gateway: RunningGateway) {
  let limits: ReturnType<typeof limitsSchema.parse> | undefined;
  await expect
    .poll(async () => {
      limits = limitsSchema.parse(await served(gateway, "/v1/limits"));
      return limits.errors.map(({ code }) => code);
    })
    .toEqual([]);
  if (limits === undefined) throw new Error("The gateway gave no limits.");
  return limits;
}

describe("the plans of real processes", () => {
  it("in credits and in fractions for each model, both at once: read, drained by a turn, exhausted, unlimited, unknown", async () => {
    const user = openHome();
    const { home, enough, limits, millrace, statusline, usageBy } = user;
    const [windsurf, antigravity] = await Promise.all([
      simulator({ home, plan: { shape: "credits", used: 40 } }),
      simulator({ home, profile: "antigravity", plan: { shape: "fractions", used: 60 } }),
    ]);
    const gateway = await user.gateway();
    const first = await firstReading(gateway);
    expect(first.data.map(({ ide, shape, stale }) => [ide, shape, stale])).toEqual([
      ["devin", "credits", false],
      ["antigravity", "fractions", false],
    ]);
    expect(first.data.map(({ product, stand_in: standIn }) => [product.endsWith(", a stand-in"), standIn])).toEqual([
      [true, true],
      [true, true],
    ]);
    expect(first.data[0]?.windows[0]).toMatchObject({ id: "prompt-credits", used: 200, limit: 500, remaining: 300 });
    const pools = (await limits("antigravity")).windows;
    expect(pools).toMatchObject({ "gemini-5h": { used: 60 }, "3p-5h": { used: 30 } });
    expect(pools["model:gemini-3-flash"]).toMatchObject({ scope: "model", remaining: 40 });
    expect(pools["model:gemini-2.5-flash-lite"]).toBeUndefined();
    expect((await statusline()).stdout).toMatch(/^Devin credits 300\b.*Antigravity gemini 5h 40%/);
    expect(await enough("--ide", "antigravity", "--window", "3p-5h", "--min-remaining", "70")).toBe(0);
    expect(await enough("--window", "prompt-credits", "--min-remaining", "61")).toBe(1);

    const headers = { "x-millrace-project": "mill" };
    await openai(gateway).chat.completions.create({ ...ask("Hi"), model: "claude-opus-4.7-high" }, { headers });
    // The turn's end marks the reading stale; the next reading has its cost, and the history who it was.
    await expect
      .poll(async () => limitsSchema.parse(await served(gateway, "/v1/limits?wait=0")).data.map(({ stale }) => stale), {
        timeout: patienceMs,
      })
      .toEqual([true, true]);
    expect((await limits("devin")).windows["prompt-credits"]).toMatchObject({ used: 208, remaining: 292 });
    const report = usageSchema.parse(JSON.parse((await usageBy("project")).stdout));
    expect(report.data).toMatchObject([{ key: "mill", turns: 1, credits: 8, credits_known_turns: 1 }]);
    expect(report.used_outside).toEqual([]); // a stand-in's plan is not the user's: none of its readings is stored

    await antigravity.spend({ model: "Gemini 3 Flash", credits: 5 });
    expect((await limits("antigravity")).windows["model:gemini-3-flash"]).toMatchObject({ remaining: 35 });

    await Promise.all([
      windsurf.setPlan({ shape: "credits", used: 100 }),
      antigravity.setPlan({ shape: "fractions", used: 100 }),
    ]);
    expect((await limits("devin")).windows["prompt-credits"]).toMatchObject({
      remaining: 0,
      utilization: 1,
      pace: { verdict: "exhausted" },
    });
    expect(await enough("--ide", "antigravity", "--min-remaining", "1")).toBe(1);
    await Promise.all([
      windsurf.setPlan({ shape: "credits", unlimited: true, used: 10 }),
      antigravity.setPlan({ shape: "fractions", unknown: true }),
    ]);
    expect((await limits("devin")).windows["prompt-credits"]).toMatchObject({ state: "unlimited", limit: null });
    expect(await enough("--ide", "windsurf", "--min-remaining", "100")).toBe(0);
    expect(await limits("antigravity")).toMatchObject({ shape: "unknown", windows: {} });
    expect(await enough("--ide", "antigravity", "--min-remaining", "1")).toBe(69);
    await windsurf.setPlan({ shape: "credits", unknown: true });
    expect(await limits("devin")).toMatchObject({ shape: "unknown", windows: {} });
    expect((await millrace("usage")).stdout).toContain("The IDE did not report the limits of the plan.");
  });

  it("in percent and in pools, both at once: read, drained by a turn, a hidden day, overage, one IDE gone", async () => {
    const user = openHome();
    const { home, enough, limits, millrace, statusline } = user;
    const [next, antigravity] = await Promise.all([
      simulator({ home, profile: "windsurf-next", plan: { shape: "percent", used: 40, usedWeekly: 10 } }),
      simulator({ home, profile: "antigravity", plan: { shape: "pools", used: 60, usedWeekly: 20 } }),
    ]);
    const gateway = await user.gateway();
    const first = await firstReading(gateway);
    expect(first.data.map(({ ide, shape }) => [ide, shape])).toEqual([
      ["devin-next", "quota"],
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
    expect((await limits("devin-next")).windows).toMatchObject({
      daily: { remaining: 52 },
      weekly: { remaining: 88 },
    });

    await next.setPlan({ shape: "percent", used: 100, hideDaily: true, overageMicros: -1_200_000 });
    const { windows } = await limits("devin-next");
    expect(Object.keys(windows)).toEqual(["weekly", "overage"]);
    expect(windows["overage"]).toMatchObject({ kind: "balance", unit: "usd", remaining: -1.2, pace: null });
    expect(await enough("--window", "daily", "--min-remaining", "1")).toBe(64);
    expect((await statusline("--ide", "windsurf-next", "--window", "overage")).stdout).toContain("-1.2 usd");
    await antigravity.stop();
    expect(await enough("--ide", "antigravity", "--min-remaining", "1")).toBe(69); // its last reading tells nothing
    const usage = await millrace("usage", "--json");
    expect((JSON.parse(usage.stdout) as LimitsEnvelope).data.map(({ ide }) => ide)).toEqual(["devin-next"]);
    await next.setPlan({ shape: "percent", unknown: true });
    expect(await enough("--ide", "windsurf-next", "--min-remaining", "1")).toBe(69);
  });
});
