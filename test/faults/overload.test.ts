import { expect, test } from "vitest";
import { withLimits } from "../support/gateway-process.ts";
import { temporaryHome } from "../support/home.ts";
import { ask, gateway, patience, simulator } from "../support/world.ts";

/** How an answer came: its status, when a refused client may come back, and whether a stream came to its end. */
interface Outcome {
  readonly status: number;
  readonly retryAfter: number;
  readonly isWhole: boolean;
}

async function askOnce({ url, key }: { readonly url: string; readonly key: string }, i: number): Promise<Outcome> {
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ ...ask(`question ${i}`), stream: true }),
    signal: patience(),
  });
  const text = await response.text();
  const retryAfter = Number(response.headers.get("retry-after") ?? Number.NaN);
  return { status: response.status, retryAfter, isWhole: text.trimEnd().endsWith("data: [DONE]") };
}

const isServed = ({ status, isWhole }: Outcome) => status === 200 && isWhole;
const isToldToComeBack = ({ status, retryAfter }: Outcome) => (status === 503 || status === 429) && retryAfter >= 1;

test("1,000 clients at once are served or told when to come back, and health is answered meanwhile", async () => {
  const home = temporaryHome();
  await simulator({ home, turn: { rate: 2_000, size: 300, firstMs: 50 }, plan: { unlimited: true } });
  const served = await gateway({ home, ...withLimits({ mostOpen: 100 }) });
  const headers = { authorization: `Bearer ${served.key}` };
  const readMetrics = async () => (await fetch(`${served.url}/metrics`, { headers })).text();
  await readMetrics(); // the gateway looks at its event loop from the first reading on
  const asked = Array.from({ length: 1_000 }, (_, i) => askOnce(served, i));
  const health = await fetch(`${served.url}/health`);
  expect(health.status).toBe(200);
  const outcomes = await Promise.all(asked);
  expect(outcomes.filter((outcome) => !isServed(outcome) && !isToldToComeBack(outcome))).toEqual([]);
  expect(outcomes.filter(isServed).length).toBeGreaterThanOrEqual(100);

  const metrics = await readMetrics();
  expect(metrics).toMatch(/^millrace_event_loop_lag_seconds\{quantile="0\.99"\} \d/m);
});

test("past its limit a client is refused before its prompt is sent, and served when it comes back", async () => {
  const home = temporaryHome();
  const ide = await simulator({ home, turn: { rate: 4_000, size: 900, holdAfter: 300 } });
  const served = await gateway({ home, ...withLimits({ mostOpen: 5 }) });
  const first = Array.from({ length: 5 }, (_, i) => askOnce(served, i));
  await ide.until(({ messages }) => messages.length === 5, patience());
  const refused = await Promise.all([5, 6, 7].map((i) => askOnce(served, i)));
  expect(refused.map(({ status }) => status)).toEqual([503, 503, 503]);
  for (const { retryAfter } of refused) expect(retryAfter).toBeGreaterThanOrEqual(1);
  expect((await fetch(`${served.url}/health`)).status).toBe(200);
  await ide.setTurn({ rate: 4_000, size: 900 });
  await ide.release();
  expect((await Promise.all(first)).every(isServed)).toBe(true);
  expect(isServed(await askOnce(served, 5))).toBe(true);
  expect((await ide.report()).messages).toHaveLength(6);
});
