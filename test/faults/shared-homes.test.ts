import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { createClient } from "redis";
import { expect, test } from "vitest";
import { redisClientOptions } from "../../src/log/redis/redis-rows.ts";
import { type GatewayProcess, millrace } from "../support/gateway-process.ts";
import { temporaryHome } from "../support/home.ts";
import { redisInstalled, redisServer } from "../support/redis.ts";
import { sharedStore } from "../support/shared-store.ts";
import { ask, collect, gateway, openai, patience, simulator } from "../support/world.ts";

const held = { rate: 500, size: 600, holdAfter: 300 };
/** A home for programs, an IDE that holds its answer after 300 characters, and gateways of own homes over one server. */
async function world(url: string) {
  const home = temporaryHome();
  const ide = await simulator({ home, turn: held });
  const beside = (name: string) => gateway({ home, args: ["--continuity", "off"], env: sharedStore(url, home, name) });
  const release = async () => {
    await ide.setTurn({ rate: 500, size: 600 });
    await ide.release();
  };
  return { home, ide, beside, release };
}

/** Begins to read; `part` resolves with the first text, `whole` with the end or its error. */
async function reading(target: GatewayProcess, key: string) {
  const headers = { "idempotency-key": key };
  const part = Promise.withResolvers<void>();
  const { data } = await openai(target)
    .chat.completions.create({ ...ask("write"), stream: true }, { headers })
    .withResponse();
  async function* noting() {
    for await (const chunk of data) {
      if (chunk.choices[0]?.delta.content) part.resolve();
      yield chunk;
    }
  }
  const whole = collect(noting()).catch((error: unknown) => error as Error);
  return { part: part.promise, whole };
}

/** As the server does by itself two minutes after the last word of each home. */
async function forgetHomes(url: string): Promise<void> {
  const client = createClient(redisClientOptions(url));
  await client.connect();
  for (const key of await client.keys("millrace:home:*")) await client.del(key);
  client.destroy();
}

test.skipIf(!redisInstalled)(
  "a turn whose home is gone ends by name at the gateways that read it, and a frozen home that wakes changes nothing",
  async () => {
    const { url } = await redisServer();
    const { ide, beside, release } = await world(url);
    const [first, second, third] = [await beside("a"), await beside("b"), await beside("c")];
    const { part } = await reading(first, "k");
    await part;
    const [there, too] = [await reading(second, "k"), await reading(third, "k")];
    process.kill(first.pid, "SIGSTOP");
    await forgetHomes(url);
    const gone = { message: expect.stringContaining("The machine that asks this turn is gone.") };
    expect(await there.whole).toMatchObject(gone);
    expect(await too.whole).toMatchObject(gone);
    process.kill(first.pid, "SIGCONT");
    await release();
    expect(await (await reading(first, "k")).whole).toMatchObject(gone);
    expect((await ide.report()).messages).toHaveLength(1);
  },
);

test.skipIf(!redisInstalled)("a cancel at another gateway ends the turn at its own", async () => {
  const { url } = await redisServer();
  const { ide, beside } = await world(url);
  const [first, second] = [await beside("a"), await beside("b")];
  const { part, whole } = await reading(first, "k");
  await part;
  const headers = { authorization: `Bearer ${second.key}` };
  const { data } = (await (await fetch(`${second.url}/v1/turns`, { headers })).json()) as { data: { id: string }[] };
  await fetch(`${second.url}/v1/turns/${data[0]?.id}/cancel`, { method: "POST", headers });
  await whole;
  const report = await ide.until(({ cascades }) => cascades.every(({ archived }) => archived), patience());
  expect(report.messages).toHaveLength(1);
});

test.skipIf(!redisInstalled)("a gateway with another log key does not start, and says what to copy", async () => {
  const { url } = await redisServer();
  const { home, beside } = await world(url);
  await beside("a");
  const env = { ...sharedStore(url, home, "b"), MILLRACE_LOG_KEY_FILE: join(home, `log-key-${randomUUID()}`) };
  const { code, stderr } = await millrace(["serve", "--port", "0"], { home, env });
  expect(code).not.toBe(0);
  expect(stderr).toContain("sealed with another log key");
});
