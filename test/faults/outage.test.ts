import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { Code, ConnectError } from "@connectrpc/connect";
import { expect, test } from "vitest";
import { FakeClock } from "../../src/base/clock.fake.ts";
import { defaultBackoff } from "../../src/client/link/backoff.ts";
import { type GatewayLink, openLink } from "../../src/client/link/gateway-link.ts";
import { transportTo } from "../../src/client/routes.fake.ts";
import type { StreamRequest } from "../../src/client/stream/messages.ts";
import { startReliableStream } from "../../src/client/stream/open-stream.ts";
import { FakeStreamServer, says } from "../../src/client/stream-server.fake.ts";
import { openBidiTier, type Tier } from "../../src/client/tiers/tier.ts";

const clients = 1_000;
const outageMs = 60_000;
const never = new AbortController().signal;
const request: StreamRequest = { model: "any", messages: [{ role: "user", text: "Hello?" }] };

/** A way to a gateway that goes down, with every connection, and comes back; remembers when somebody tried. */
class Outage {
  readonly triedAtMs: number[] = [];
  readonly #clock: FakeClock;
  #connections = new AbortController();
  #isDown = false;

  constructor(clock: FakeClock) {
    this.#clock = clock;
  }

  goDown(): void {
    this.#isDown = true;
    this.#connections.abort();
    this.#connections = new AbortController();
  }

  comeBack(): void {
    this.#isDown = false;
  }

  /** The way of one client. */
  over(inner: Tier): Tier {
    const begin = () => {
      this.triedAtMs.push(this.#clock.monotonic());
      return { isDown: this.#isDown, cut: this.#connections.signal };
    };
    return {
      name: inner.name,
      async *attach(attach, signal) {
        const { isDown, cut } = begin();
        const gone = new ConnectError("nobody listens", Code.Unavailable);
        if (isDown) throw gone;
        try {
          yield* inner.attach(attach, AbortSignal.any([signal, cut]));
        } catch (error) {
          throw cut.aborted ? gone : error;
        }
      },
    };
  }

  /** The most tries in any second of a span. */
  busiestSecond(fromMs: number, toMs: number): number {
    const tried = this.triedAtMs.filter((atMs) => atMs >= fromMs && atMs < toMs);
    return Math.max(0, ...tried.map((atMs, i) => tried.slice(i).filter((other) => other < atMs + 1_000).length));
  }
}

/** All clients in the middle of an answer when the gateway goes down; what came of it, in virtual time. */
async function outageOf(linkOf: (tier: Tier) => GatewayLink) {
  const clock = new FakeClock();
  const servers = Array.from({ length: clients }, () => new FakeStreamServer([[says("Before. "), says("After.")]]));
  for (const server of servers) server.holdFrom = 1;
  const outage = new Outage(clock);
  let seed = 1;
  const random = () => (seed = (seed * 16_807) % 2_147_483_647) / 2_147_483_647; // Lehmer's; the same in every run
  let [begun, ended] = [0, 0];
  const all = Promise.all(
    servers.map(async (server) => {
      const tier = outage.over(openBidiTier(transportTo(server)));
      const options = { gateway: linkOf(tier), clock, random };
      const stream = await startReliableStream(request, options, never);
      let text = "";
      for await (const event of stream.events) {
        if (event.type !== "text") continue;
        text += event.delta;
        begun++;
      }
      ended++;
      return text;
    }),
  );
  const until = async (holds: () => boolean, stepMs: number) => {
    for (let i = 0; i < 2_000 && !holds(); i++) {
      await settled();
      if (stepMs > 0) await clock.advance(stepMs);
    }
    expect(holds()).toBe(true);
  };
  await until(() => begun >= clients, 0);
  const [downAtMs, triesBefore] = [clock.monotonic(), outage.triedAtMs.length];
  outage.goDown();
  await until(() => clock.monotonic() - downAtMs >= 20_000, 500);
  const before = heap();
  await until(() => clock.monotonic() - downAtMs >= outageMs, 500);
  const grownBytes = heap() - before;
  const [backAtMs, triesDown] = [clock.monotonic(), outage.triedAtMs.length - triesBefore];
  for (const server of servers) {
    server.holdFrom = Infinity;
    server.changed();
  }
  outage.comeBack();
  await until(() => ended === clients, 250);
  expect(new Set(await all)).toEqual(new Set(["Before. After."]));
  expect(servers.filter(({ prompts }) => prompts !== 1)).toEqual([]);
  const endedAtMs = clock.monotonic();
  const busiest = outage.busiestSecond(backAtMs, endedAtMs + 1);
  return {
    grownBytes,
    triesDown,
    busiest,
    tookMs: endedAtMs - backAtMs,
    triesAfter: outage.triedAtMs.length - triesBefore - triesDown,
  };
}

test("a thousand streams whose gateway is down for a minute retry a few times each, take no more memory, and reconnect spread over the longest wait (G15)", {
  timeout: 300_000,
}, async () => {
  const { triesDown, triesAfter, busiest, tookMs, grownBytes } = await outageOf((tier) => openLink([tier]));
  expect(triesDown / clients).toBeLessThan(15); // 2 in the first second, then every 7.5 s on average
  expect(triesAfter).toBe(clients); // one attach each
  expect(busiest).toBeLessThan(clients / 5); // of 67 on average over the longest wait
  expect(tookMs).toBeLessThanOrEqual(defaultBackoff.capMs + 1_000);
  expect(grownBytes / clients).toBeLessThan(500);
});

/** Until what the clients do by themselves is done: their digests are worked out on other threads, in real time. */
async function settled(): Promise<void> {
  for (let i = 0; i < 16; i++) {
    await crypto.subtle.digest("SHA-256", new Uint8Array(1));
    await new Promise(setImmediate);
  }
}

function heap(): number {
  setFlagsFromString("--expose-gc");
  runInNewContext("gc")();
  return process.memoryUsage().heapUsed;
}
