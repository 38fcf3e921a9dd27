import process from "node:process";
import { setTimeout as wait } from "node:timers/promises";
import { createClient } from "redis";
import { expect, onTestFinished, test } from "vitest";
import { redisClientOptions } from "../../src/log/redis/redis-rows.ts";
import { type BackendName, backends, type StandIn, standInFor } from "../matrix/stand-in.ts";
import { inBackground, type MixedClient, textClients } from "../matrix/twenty.ts";
import { RedisNode } from "../shared/redis-node.ts";
import { Balancer } from "../support/balancer.ts";
import type { GatewayProcess } from "../support/gateway-process.ts";
import { redisInstalled, redisProgram } from "../support/redis.ts";
import { sharedStore } from "../support/shared-store.ts";
import { rowsOf } from "../support/tables.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { gateway, patienceMs } from "../support/world.ts";

/* Gateways share a Redis server when something happens to the one that asks, or to the server: no reader at any of them waits for ever. */

const pace = { rate: 4_000, firstMs: 50, inputMs: 20, thinking: 0 };
const awayMs = 4_000;

interface Shared {
  readonly standIn: StandIn;
  /** The first one asks; the others read. */
  readonly gateways: GatewayProcess[];
  /** Of each gateway to the server. */
  readonly links: readonly Balancer[];
  readonly redis: { node: RedisNode };
  /** The next gateway of the first one's home. */
  readonly next: () => Promise<void>;
  /** Lets the models write on. */
  readonly release: () => Promise<void>;
  /** Until each answer at the other gateways has ended. */
  readonly readElsewhere: () => Promise<unknown>;
}

interface SharedEvent {
  readonly befall: (shared: Shared) => Promise<unknown>;
  /** Its home counts as gone at the others. */
  readonly leaves?: true;
  /** With one gateway. */
  readonly isAlone?: true;
}

async function command(port: number, ...words: readonly string[]): Promise<unknown> {
  const client = createClient(redisClientOptions(`redis://127.0.0.1:${port}`));
  client.on("error", () => {});
  await client.connect();
  try {
    return await client.sendCommand([...words]);
  } finally {
    client.destroy();
  }
}

/** As the server does by itself two minutes after the last word of each home. */
async function forgetHomes(port: number): Promise<void> {
  for (const key of (await command(port, "KEYS", "millrace:home:*")) as string[]) await command(port, "DEL", key);
}

async function serverIn(): Promise<RedisNode> {
  const folder = temporaryFolder();
  const node = await RedisNode.start(redisProgram, folder);
  onTestFinished(() => node[Symbol.asyncDispose]());
  return node;
}

/** A server that has all that the other one has. */
async function replicaOf(primary: RedisNode): Promise<RedisNode> {
  const replica = await serverIn();
  await command(replica.port, "REPLICAOF", "127.0.0.1", String(primary.port));
  await expect
    .poll(() => command(replica.port, "INFO", "replication"), { timeout: patienceMs })
    .toMatch(/link_status:up/);
  await expect.poll(() => command(primary.port, "SET", "sync", "1"), { timeout: patienceMs }).toBe("OK");
  await expect.poll(() => command(replica.port, "GET", "sync"), { timeout: patienceMs }).toBe("1");
  return replica;
}

const events: Readonly<Record<string, SharedEvent>> = {
  "its gateway is killed, and the next one of its home starts": {
    async befall({ gateways, next }) {
      await gateways[0]?.kill();
      await next();
    },
  },
  "its gateway stops, and the next one of its home starts": {
    async befall({ gateways, next }) {
      await gateways[0]?.stop();
      await next();
    },
  },
  "its gateway is frozen for three minutes": {
    leaves: true,
    async befall({ gateways: [first], redis, readElsewhere }) {
      process.kill(first?.pid ?? 0, "SIGSTOP");
      await forgetHomes(redis.node.port);
      await readElsewhere();
      process.kill(first?.pid ?? 0, "SIGCONT");
    },
  },
  "its gateway is cut off for a while": {
    async befall({ links: [link], release }) {
      link?.cut();
      await release();
      await wait(awayMs);
      link?.mend();
    },
  },
  "what its gateway sends is lost for a while": {
    async befall({ links: [link], release }) {
      link?.hold();
      await release();
      await wait(10_000);
    },
  },
  "Redis is killed, and starts again": {
    async befall({ redis, release }) {
      await Promise.all([redis.node.restart(), release()]);
    },
  },
  "Redis fails over to its replica": {
    async befall({ redis, links, release }) {
      const [was, replica] = [redis.node, await replicaOf(redis.node)];
      await Promise.all([was[Symbol.asyncDispose](), release()]);
      await command(replica.port, "REPLICAOF", "NO", "ONE");
      redis.node = replica;
      for (const link of links) link.targets = [replica.port];
    },
  },
  "Redis and its replica change places, and no connection ends": {
    async befall({ redis, links, release }) {
      const [was, replica] = [redis.node, await replicaOf(redis.node)];
      await command(replica.port, "REPLICAOF", "NO", "ONE");
      await command(was.port, "REPLICAOF", "127.0.0.1", String(replica.port));
      redis.node = replica;
      for (const link of links) link.targets = [replica.port];
      await release();
    },
  },
  "Redis fails over to a replica that lacks the newest events": {
    async befall({ redis, links, release }) {
      const [was, replica] = [redis.node, await replicaOf(redis.node)];
      await command(replica.port, "REPLICAOF", "NO", "ONE");
      const written = async () =>
        Number(/master_repl_offset:(\d+)/.exec(String(await command(was.port, "INFO", "replication")))?.[1]);
      const before = await written();
      await release();
      await expect.poll(written, { timeout: patienceMs, interval: 5 }).toBeGreaterThan(before + 20_000);
      await was[Symbol.asyncDispose]();
      redis.node = replica;
      for (const link of links) link.targets = [replica.port];
    },
  },
  "Redis loses all it has": {
    isAlone: true, // others know nothing of it then
    async befall({ redis: { node }, release }) {
      await command(node.port, "FLUSHALL");
      await release();
    },
  },
  "Redis is full for a while": {
    async befall({ redis: { node }, release }) {
      await command(node.port, "CONFIG", "SET", "maxmemory-policy", "noeviction");
      await command(node.port, "CONFIG", "SET", "maxmemory", "1");
      await release();
      await wait(awayMs);
      await command(node.port, "CONFIG", "SET", "maxmemory", "0");
    },
  },
};

const rows = Object.entries(events).flatMap(([event, { isAlone }]) =>
  backends.flatMap((backend) => (isAlone ? [1] : [1, 3]).map((count) => ({ event, backend, count }))),
);

const named = (how: string) => textClients.filter((client) => client.how === how).slice(0, 1);
const shared = named("Chat Completions, with a key");
const own = [
  ...named("Chat Completions, without a key"),
  ...named("Responses, with a key"),
  ...named("the stream protocol, with a key"),
];

/** Its home's folder and its link to the server. */
async function world(backend: BackendName, count: number) {
  const turn = { ...pace, holdAfter: 700 };
  const standIn = await standInFor(backend, { turn, ...(backend === "ACP" ? { profile: "devin-cli" } : {}) });
  const redis = { node: await serverIn() };
  const links: Balancer[] = [];
  const start = (at: number) =>
    gateway({
      home: standIn.ide.home,
      args: ["--continuity", "off", "--max-turns", "50"],
      env: sharedStore(`redis://127.0.0.1:${links[at]?.port}`, standIn.ide.home, `home-${at}`),
    });
  const gateways: GatewayProcess[] = [];
  for (let at = 0; at < count; at++) {
    const link = await Balancer.open([redis.node.port]);
    onTestFinished(() => link[Symbol.asyncDispose]());
    links.push(link);
    gateways.push(await start(at));
  }
  return {
    standIn,
    gateways,
    links,
    redis,
    async next() {
      gateways[0] = await start(0);
    },
    async release() {
      await standIn.ide.setTurn(pace);
      await standIn.ide.release();
    },
  };
}

/** A client of one of the gateways. The one in the background asks a different one each time. */
function started(client: MixedClient, { gateways, standIn }: Awaited<ReturnType<typeof world>>, at: number) {
  const begun = Promise.withResolvers<void>();
  let asked = 0;
  const place = {
    model: standIn.model,
    get current() {
      const one = gateways[client === inBackground ? asked++ % gateways.length : at];
      if (one === undefined) throw new Error("there is no such gateway");
      return one;
    },
  };
  const mark = client === shared[0] ? "the-same-end" : `${client.how.replaceAll(/\W+/g, "-")}-end`;
  const outcome = client
    .ask(place, mark, { begun: begun.resolve, struck: Promise.resolve() })
    .catch((error: unknown) => ({ failed: String(error) }));
  return { client, at, mark, outcome, begun: Promise.race([begun.promise, outcome]) };
}

const oneOrTwo: unknown = expect.toSatisfy((count: unknown) => count === 1 || count === 2);
const whole: unknown = { text: expect.stringMatching(/^[^]{1500}$/) };
const isGone: unknown = { failed: expect.stringContaining("The machine that asks this turn is gone.") };
/** The gateway itself has the rest in memory, if it finds out too late that others have ended the turn. */
const isGoneOrWhole: unknown = expect.toSatisfy((said: unknown) =>
  /machine that asks this turn is gone|"text":/.test(JSON.stringify(said)),
);

test.skipIf(!redisInstalled).each(rowsOf(rows))(
  "over Redis and $backend, with $count gateways, every reader gets its end when $event",
  { timeout: 3 * patienceMs },
  async ({ event, backend, count }) => {
    const it = await world(backend, count);
    const [first] = shared;
    if (first === undefined) throw new Error("there is no such client");
    const asking = [started(first, it, 0)];
    await asking[0]?.begun;
    for (const client of [...own, inBackground]) asking.push(started(client, it, 0));
    for (let at = 1; at < count; at++) asking.push(started(first, it, at));
    await Promise.all(asking.map(({ begun }) => begun));
    await expect.poll(async () => (await it.standIn.prompts()).length, { timeout: patienceMs }).toBe(own.length + 2);
    const elsewhere = asking.filter(({ at }) => at > 0).map(({ outcome }) => outcome);
    await events[event]?.befall({ ...it, readElsewhere: () => Promise.all(elsewhere) });
    await it.release();
    const answers = await Promise.all(asking.map(({ outcome }) => outcome));
    const prompts = await it.standIn.prompts();
    const found = asking.map(({ client: { how }, at, mark }, nth) => ({
      how,
      at,
      said: answers[nth],
      prompts: prompts.filter((text) => text.includes(mark)).length,
    }));
    const isLeft = events[event]?.leaves === true && count > 1;
    const expected = asking.map(({ client, at }) => ({
      how: client.how,
      at,
      said: isLeft && at > 0 ? isGone : isLeft && (client === first || client === inBackground) ? isGoneOrWhole : whole,
      prompts: client.isKeyed ? 1 : oneOrTwo,
    }));
    expect(found).toEqual(expected);
  },
);
