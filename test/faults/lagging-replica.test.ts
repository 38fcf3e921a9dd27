import { join } from "node:path";
import { APIError } from "openai";
import { expect, onTestFinished, test } from "vitest";
import { until } from "../../src/base/wait.fake.ts";
import { RedisPair } from "../shared/redis-pair.ts";
import { Balancer } from "../support/balancer.ts";
import { type GatewayProcess, millrace } from "../support/gateway-process.ts";
import { temporaryHome } from "../support/home.ts";
import { redisInstalled, redisProgram } from "../support/redis.ts";
import { sharedStore } from "../support/shared-store.ts";
import { ask, degradedGauge, gateway, openai, patienceMs, simulator } from "../support/world.ts";

async function opened(...targets: number[]): Promise<Balancer> {
  const link = await Balancer.open(targets);
  onTestFinished(() => link[Symbol.asyncDispose]());
  return link;
}

test.skipIf(!redisInstalled)(
  "an answer says that a replica lags; after a failover to it that answer is missing and its prompt is sent again, and no other",
  async () => {
    const home = temporaryHome();
    const replication = await opened();
    const pair = await RedisPair.start(redisProgram, join(home, "redis"), async (port) => {
      replication.targets = [port];
      return replication.port;
    });
    onTestFinished(() => pair[Symbol.asyncDispose]());
    const link = await opened(pair.port);
    const ide = await simulator({ home });
    const env = (name: string) => sharedStore(`redis://127.0.0.1:${link.port}`, home, name);
    const start = (name: string) => gateway({ home, args: ["--continuity", "off"], env: env(name) });
    const [first, second] = [await start("a"), await start("b")];
    /** Asks again while the gateway has lost its connection, as the refusal says. */
    const asked = async (served: GatewayProcess, name: string): Promise<readonly (string | null)[]> => {
      const headers = { "idempotency-key": name };
      const answer = openai(served).chat.completions.create(ask(`${name}-end`), { headers });
      try {
        const { response } = await answer.withResponse();
        return [response.headers.get("x-millrace-turn"), response.headers.get("x-millrace-store")];
      } catch (error) {
        if (!(error instanceof APIError) || error.status !== 503) throw error;
        await until(async () => (await degradedGauge(served)) === 0);
        return asked(served, name);
      }
    };
    const promptsOf = async (name: string) =>
      (await ide.report()).messages.filter(({ text }) => text.includes(`${name}-end`)).length;
    const storeOf = async ({ url, key }: GatewayProcess) => {
      const answer = await fetch(`${url}/health`, { headers: { authorization: `Bearer ${key}` } });
      const { store } = (await answer.json()) as { readonly store: { readonly weaknesses: readonly string[] } };
      return store.weaknesses;
    };

    await expect.poll(() => storeOf(first), { timeout: patienceMs }).toEqual([]); // a replica may be slow for a moment
    const [early, said] = await asked(first, "early");
    expect(said).toBeNull();
    replication.hold();
    const [late, saidLate] = await asked(first, "late");
    expect(saidLate).toBe("replica_behind");
    await expect.poll(() => storeOf(second), { timeout: patienceMs }).toEqual(["replica_behind"]);
    const doctor = await millrace(["doctor"], { home, env: env("c") });
    expect(doctor.stdout).toContain("A replica of the Redis server does not keep up.");
    expect(first.log()).toContain("store_weak");
    const status = await millrace(["status"], { home, env: env("b") });
    expect(status.stdout).toMatch(/store +A replica of the Redis server does not keep up\./);

    await pair.failOver();
    link.targets = [pair.port];
    link.drop();
    for (const each of [first, second]) await expect.poll(() => degradedGauge(each), { timeout: patienceMs }).toBe(0);
    const found = await asked(second, "early");
    expect([found[0], await promptsOf("early")]).toEqual([early, 1]);
    const again = await asked(second, "late");
    expect(again[0]).not.toBe(late);
    expect(await promptsOf("late")).toBe(2); // what the header said
    await expect.poll(() => storeOf(first), { timeout: patienceMs }).toEqual(["replica_gone"]);
    await pair.addReplica();
    await expect.poll(() => storeOf(first), { timeout: patienceMs }).toEqual([]);
    expect((await asked(first, "later"))[1]).toBeNull();
  },
);
