import { fork } from "node:child_process";
import { Agent, request } from "node:http";
import { loadavg } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { type GatewayProcess, millrace } from "../test/support/gateway-process.ts";
import { model, openWorld } from "./load/gateway.ts";
import { attacks, type HostileOrder, type HostileReport } from "./load/hostile.ts";
import { told } from "./load/process.ts";
import { costOf } from "./load/process-cost.ts";

/**
 * `npm run bench hostile`: what a key that sends the largest and most expensive bodies costs a neighbour with another key, who sends a small request
 * every 50 ms: his longest wait, and the gateway's peak memory, beside the same gateway without the other. The best of `--rounds` counts, because
 * other work of the machine makes people wait as well. `--only` takes a part of a name; `--profile DIR` leaves a CPU profile of the gateway there.
 */
const { values: options } = parseArgs({
  options: {
    only: { type: "string", default: "" },
    rounds: { type: "string", default: "5" },
    profile: { type: "string" },
  },
});
const everyMs = 50;
const idle = "idle";
const growth = { characters: 100, charactersPerSecond: 2_000, firstMs: 10 };
const agent = new Agent({ keepAlive: true });

interface Row {
  readonly waitMs: number;
  readonly peakMiB: number;
  readonly seen: HostileReport;
}

for (const name of [idle, ...Object.keys(attacks).filter((each) => each.includes(options.only))]) {
  const rounds: Row[] = [];
  for (let round = 0; round < Number(options.rounds); round++) rounds.push(await measure(name));
  const waits = rounds.map(({ waitMs }) => waitMs);
  const peak = Math.min(...rounds.map(({ peakMiB }) => peakMiB));
  const answers = Object.entries(rounds[0]?.seen ?? {}).map(([answer, times]) => `${times} x ${answer}`);
  const [load = 0] = loadavg();
  console.log(
    `${name.padEnd(42)} wait ${Math.min(...waits)
      .toFixed(0)
      .padStart(
        5,
      )} ms (${waits.map((ms) => ms.toFixed(0)).join(", ")})  peak ${peak.toFixed(0).padStart(4)} MiB  load ${load.toFixed(1)}  ${answers.join(", ")}`,
  );
}

async function measure(name: string): Promise<Row> {
  const world = await openWorld(growth);
  const how = options.profile === undefined ? {} : { profile: options.profile };
  const gateway = await world.start([], how);
  const keyOf = async (of: string) => (await millrace(["keys", "create", of], { home: world.home })).stdout.trim();
  const hostile = name === idle ? undefined : fork(join(import.meta.dirname, "load/hostile.ts"));
  try {
    const [neighbour, other] = [await keyOf("neighbour"), await keyOf("hostile")];
    await askSmall(gateway, neighbour);
    await hostileReady(hostile, { url: gateway.url, key: other, attack: name });
    const over = new AbortController();
    const waits = longestWait(gateway, neighbour, over.signal);
    const seen = hostile === undefined ? await sleep(3_000, {}) : await told<HostileReport>(hostile, "go");
    over.abort();
    const waitMs = await waits;
    return { waitMs, seen, peakMiB: (costOf(gateway.pid)?.peakBytes ?? Number.NaN) / 2 ** 20 };
  } finally {
    hostile?.kill();
    await gateway.stop();
    world.close();
  }
}

async function hostileReady(hostile: ReturnType<typeof fork> | undefined, order: HostileOrder): Promise<void> {
  if (hostile !== undefined) await told<"ready">(hostile, order);
}

/** Requests begin every 50 ms, whether or not the earlier ones were answered. */
async function longestWait(gateway: GatewayProcess, key: string, over: AbortSignal): Promise<number> {
  const waits: Promise<number>[] = [];
  while (!over.aborted) {
    waits.push(askSmall(gateway, key));
    await sleep(everyMs);
  }
  return Math.max(...(await Promise.all(waits)));
}

function askSmall({ url }: GatewayProcess, key: string): Promise<number> {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const askedAt = performance.now();
  return new Promise((resolve, reject) => {
    request(`${url}/v1/messages/count_tokens`, { method: "POST", headers, agent }, (response) => {
      response.resume();
      response.once("end", () => {
        if (response.statusCode === 200) resolve(performance.now() - askedAt);
        else reject(new Error(`A small request got ${response.statusCode}.`));
      });
    })
      .on("error", reject)
      .end(JSON.stringify({ model, messages: [{ role: "user", content: "hello" }] }));
  });
}
