import { APIError } from "openai";
import { expect, test } from "vitest";
import { millrace } from "../support/gateway-process.ts";
import { temporaryHome } from "../support/home.ts";
import { redisInstalled, redisServer } from "../support/redis.ts";
import { sharedStore } from "../support/shared-store.ts";
import { ask, gateway, openai, patienceMs, simulator } from "../support/world.ts";

const clients = 4;
/** So many turns fit into the budget. */
const fitting = 24;

/** The tokens of a turn are known at its end: what runs when the budget is reached may still end. */
test.skipIf(!redisInstalled).each(["tokens", "turns"] as const)(
  "clients of three gateways that use up a budget of %s get no more turns than it has, but for those that ran at that time",
  async (unit) => {
    const home = temporaryHome();
    const redis = await redisServer();
    const ide = await simulator({ home, turn: { rate: 5_000, firstMs: 20 }, plan: { unlimited: true } });
    const env = (name: string) => sharedStore(redis.url, home, name);
    const start = (name: string) => gateway({ home, args: ["--continuity", "off"], env: env(name) });
    const gateways = await Promise.all(["a", "b", "c"].map(start));
    const at = (i: number) => gateways[i % gateways.length] as (typeof gateways)[number]; // there are three
    const request = (name: string) => ask(`${name} [[sim: text="all the same"]]`);
    const probe = await openai(at(0)).chat.completions.create(request("probe-00"));
    const size = unit === "turns" ? 1 : (probe.usage?.total_tokens ?? 0);
    const budget = `${size * fitting} ${unit}/month`;
    const made = await millrace(["keys", "create", "ci", "--budget", budget], { home, env: env("a") });
    const key = made.stdout.trim();
    const status = async ({ url }: { readonly url: string }) =>
      (await fetch(`${url}/v1/turns`, { headers: { authorization: `Bearer ${key}` } })).status;
    await expect.poll(() => Promise.all(gateways.map(status)), { timeout: patienceMs }).toEqual([200, 200, 200]);

    let answered = 0;
    const client = async (nth: number) => {
      for (let i = nth; ; i++) {
        try {
          await openai({ url: at(i).url, key }).chat.completions.create(request(`${nth}-${i}`.padStart(8, "0")));
          answered++;
        } catch (error) {
          if (!(error instanceof APIError) || error.status !== 429) throw error;
          return;
        }
      }
    };
    await Promise.all(Array.from({ length: clients }, (_, nth) => client(nth)));
    expect(answered).toBeGreaterThanOrEqual(unit === "turns" ? fitting : fitting - 1);
    expect(answered).toBeLessThanOrEqual(unit === "turns" ? fitting : fitting + 2 * clients);
    expect((await ide.report()).messages).toHaveLength(answered + 1);
  },
);
