import { expect, onTestFinished, test } from "vitest";
import { bestEffort } from "../../src/base/async.ts";
import { Balancer } from "../support/balancer.ts";
import type { GatewayProcess } from "../support/gateway-process.ts";
import { temporaryHome } from "../support/home.ts";
import { redisInstalled, redisServerOnPort } from "../support/redis.ts";
import { sharedStore } from "../support/shared-store.ts";
import { ask, degradedGauge, gateway, openai, patience, patienceMs, simulator } from "../support/world.ts";

/** Longer than a lease, after which the other gateway takes the turn over. */
const startTakesMs = 18_000;

type World = { readonly first: GatewayProcess; readonly link: Balancer };

/** A gateway that knows of others starts no turn that its store does not know. */
async function refusesNewTurns(first: GatewayProcess): Promise<void> {
  const refused = openai(first).chat.completions.create(ask("another"), { headers: { "idempotency-key": "new" } });
  await expect(refused).rejects.toMatchObject({ status: 503, code: "unavailable" });
}

const misfortunes = [
  {
    what: "is cut off from the store",
    begin: ({ link }: World) => link.cut(),
    whileAway: refusesNewTurns,
    end: ({ link }: World) => link.mend(),
  },
  {
    what: "stands still",
    whileAway: async () => {},
    begin: ({ first }: World) => process.kill(first.pid, "SIGSTOP"),
    end: ({ first }: World) => process.kill(first.pid, "SIGCONT"),
  },
] as const;

test.skipIf(!redisInstalled).each(misfortunes)(
  "a gateway that $what before its prompt is sent sends none after another one took its turn over",
  async ({ begin, whileAway, end }) => {
    const home = temporaryHome();
    const port = await redisServerOnPort();
    const link = await Balancer.open([port]);
    onTestFinished(() => link[Symbol.asyncDispose]());
    const ide = await simulator({ home });
    const start = (name: string, redisPort: number) =>
      gateway({
        home,
        args: ["--continuity", "off"],
        env: sharedStore(`redis://127.0.0.1:${redisPort}`, home, name),
      });
    const second = await start("b", port);
    const first = await start("a", link.port); // it sees the other one with its first renewal
    const untilCalled = (times: number) => ide.until(({ calls }) => (calls["StartCascade"] ?? 0) >= times, patience());
    await untilCalled(2); // each of them has asked what the IDE can do
    await ide.setFaults([{ rpc: "StartCascade", times: 1, delayMs: startTakesMs }]);
    const headers = { "idempotency-key": "one question" };
    const asked = openai(first)
      .chat.completions.create(ask("write"), { headers })
      .then(
        () => "answered",
        () => "refused",
      );
    const openTurns = async () => (await turnsOf(second)).filter(({ status }) => status === "running").length;
    await expect.poll(openTurns, { timeout: patienceMs }).toBe(1);
    await untilCalled(3);
    begin({ first, link });
    await whileAway(first);
    const answer = await openai(second).chat.completions.create(ask("write"), { headers });
    expect(answer.choices[0]?.message.content).toBeTruthy();
    // The late one has its conversation, or has given its call up.
    await bestEffort(ide.until(({ cascades }) => cascades.length >= 2, AbortSignal.timeout(startTakesMs)));
    end({ first, link });
    await expect.poll(() => degradedGauge(first), { timeout: patienceMs }).toBe(0);
    await asked;
    const again = await openai(first).chat.completions.create(ask("write"), { headers });
    expect(again.choices[0]?.message.content).toBe(answer.choices[0]?.message.content);
    const { messages } = await ide.report();
    expect(messages.filter(({ text }) => text.includes("write"))).toHaveLength(1);
  },
);

async function turnsOf({ url, key }: GatewayProcess): Promise<readonly { readonly status: string }[]> {
  const response = await fetch(`${url}/v1/turns`, { headers: { authorization: `Bearer ${key}` } });
  return ((await response.json()) as { readonly data: readonly { readonly status: string }[] }).data;
}
