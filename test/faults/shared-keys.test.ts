import { join } from "node:path";
import { expect, test } from "vitest";
import { type GatewayProcess, millrace } from "../support/gateway-process.ts";
import { temporaryHome } from "../support/home.ts";
import { redisInstalled, redisServer } from "../support/redis.ts";
import { sharedStore } from "../support/shared-store.ts";
import { degradedGauge, gateway, patienceMs, simulator } from "../support/world.ts";

test.skipIf(!redisInstalled)(
  "a key that one machine makes opens every gateway of the store, and none once it is revoked, also while the store is away",
  async () => {
    const home = temporaryHome();
    const redis = await redisServer();
    await simulator({ home });
    const env = (name: string) => sharedStore(redis.url, home, name);
    const start = (name: string) => gateway({ home, env: env(name) });
    const run = async (name: string, ...args: string[]) => {
      const ended = await millrace(["keys", ...args], { home, env: env(name) });
      return ended.code === 0 ? ended.stdout.trim() : ended.stderr;
    };
    const carried = await millrace(["keys", "create", "carried"], { home, env: { MILLRACE_HOME: join(home, "a") } });
    const [a, b] = [await start("a"), await start("b")];
    const statusOf = async ({ url }: GatewayProcess, key: string) =>
      (await fetch(`${url}/v1/turns`, { headers: { authorization: `Bearer ${key}` } })).status;
    const everywhere = async (key: string, status: number) =>
      await expect
        .poll(() => Promise.all([a, b].map((each) => statusOf(each, key))), { timeout: patienceMs })
        .toEqual([status, status]);

    await everywhere(carried.stdout.trim(), 200);
    const [kept, ended] = [await run("c", "create", "kept"), await run("c", "create", "ended")];
    await everywhere(kept, 200);
    await everywhere(ended, 200);
    const rotated = await run("b", "rotate", "kept");
    await everywhere(kept, 401);
    await everywhere(rotated, 200);
    await run("c", "revoke", "ended");
    await everywhere(ended, 401);
    const listed = JSON.parse(await run("b", "list", "--all", "--json")) as { readonly data: readonly object[] };
    const states = [
      { name: "carried", state: "works" },
      { name: "kept", state: "works" },
      { name: "ended", state: "revoked" },
    ];
    expect(listed.data).toMatchObject(states);
    const page = await fetch(`${b.url}/v1/keys`, { headers: { authorization: `Bearer ${b.key}` } });
    expect(await page.json()).toMatchObject({
      data: expect.arrayContaining(states.map((state) => expect.objectContaining(state))),
    });

    await redis.kill();
    await expect.poll(() => degradedGauge(a), { timeout: patienceMs }).toBe(1);
    await expect.poll(() => a.log(), { timeout: patienceMs }).toContain("keys_not_shared");
    expect(await run("c", "revoke", "kept")).toContain("cannot be reached");
    await b.stop();
    const again = await start("b");
    for (const each of [a, again])
      expect([await statusOf(each, rotated), await statusOf(each, kept), await statusOf(each, ended)]).toEqual([
        200, 401, 401,
      ]);
  },
);
