import { startSimulator } from "../simulator/index.ts";
import { rawClient, say } from "../src/gateway/streams/raw-client.fake.ts";
import { startGatewayProcess, withLimits } from "../test/support/gateway-process.ts";
import { pinnedTo } from "../test/support/pinned.ts";
import { quantile } from "./load/quantile.ts";

/**
 * Checks that response times do not show whether a stream exists under another key. It attaches in turns to a stream with a wrong
 * key, and to a stream that does not exist, at a real gateway. The first must take longer in about half of all pairs. A rank test
 * (Mann and Whitney) says how far chance alone may move that. `--rounds` of each; 10,000 by default.
 */
const rounds = Number(/--rounds=(\d+)/.exec(process.argv.join(" "))?.[1] ?? 10_000);
const warmUp = 100;
const unfair = 0.05;

await using simulator = await startSimulator({ plan: { unlimited: true } });
const gateway = await startGatewayProcess({
  home: simulator.home,
  args: pinnedTo(simulator),
  ...withLimits({ attachesPerMinute: 1_000_000 }),
});
try {
  const client = rawClient(gateway);
  const stream = crypto.randomUUID();
  const attach = (name: string, key: string, intent: string) =>
    client.attach("sse", {
      "x-idempotency-key": name,
      "x-idempotent-encryption-key": key,
      "x-idempotency-event-id": "0",
      "x-millrace-intent": intent,
    });
  const whole = attach(stream, newKey(), "create");
  whole.send(say.request("Keep this. [[sim: size=20000 rate=instant]]", 0, { model: "claude-sonnet-4.6" })).endInput();
  await whole.ended;
  if (whole.end === undefined) throw new Error("there is no stream to begin with");

  const refused = async (name: string): Promise<number> => {
    const startedAt = performance.now();
    const error = await attach(name, newKey(), "resume").ended;
    if (error === undefined) throw new Error("the attach was not refused");
    answers.add(`${error.code} ${error.message}`);
    return performance.now() - startedAt;
  };
  const answers = new Set<string>();
  const wrongKey: number[] = [];
  const unknown: number[] = [];
  for (let round = 0; round < rounds + warmUp; round++) {
    const [one, other] = [await refused(stream), await refused(crypto.randomUUID())];
    if (round < warmUp) continue;
    wrongKey.push(one);
    unknown.push(other);
  }
  const longer = shareOfLonger(wrongKey, unknown);
  for (const [what, times] of Object.entries({ "a wrong key": wrongKey, "no such stream": unknown }))
    console.log(`${what}: p50 ${quantile(times, 0.5).toFixed(2)} ms, p90 ${quantile(times, 0.9).toFixed(2)} ms`);
  const z = (longer - 0.5) / Math.sqrt((2 * rounds + 1) / (12 * rounds ** 2));
  console.log(
    `a wrong key takes longer in ${(100 * longer).toFixed(1)} % of ${rounds} x ${rounds} pairs (50 tells nothing; ` +
      `rank test: z ${z.toFixed(1)}); ${answers.size} answer`,
  );
  if (Math.abs(longer - 0.5) > unfair || answers.size !== 1) process.exitCode = 1;
} finally {
  await gateway.stop();
}

function newKey(): string {
  return Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString("base64url");
}

/** Of all pairs of one of each, those where the first took longer; ties count half (Mann and Whitney). */
function shareOfLonger(first: readonly number[], second: readonly number[]): number {
  const sorted = [...second].sort((a, b) => a - b);
  let longer = 0;
  for (const time of first) longer += (placeOf(sorted, time, false) + placeOf(sorted, time, true)) / 2;
  return longer / (first.length * second.length);
}

/** How many of the sorted times are below this one, or not above it. */
function placeOf(sorted: readonly number[], time: number, orEqual: boolean): number {
  let [from, to] = [0, sorted.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    const at = sorted[middle] ?? Infinity;
    if (at < time || (orEqual && at === time)) from = middle + 1;
    else to = middle;
  }
  return from;
}
