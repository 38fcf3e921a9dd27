import { expect, test } from "vitest";
import { eventsOf } from "../cut/exchange.ts";
import { temporaryHome } from "../support/home.ts";
import { redisInstalled, redisServer } from "../support/redis.ts";
import { sharedStore } from "../support/shared-store.ts";
import { Tripwire } from "../support/tripwire.ts";
import { ask, gateway, openai, patience, patienceMs, simulator } from "../support/world.ts";

/** Every how many-th step of the store the server is killed at; 1 is every one, before and after it, and takes some minutes. */
const stride = Number(process.env["MILLRACE_REDIS_STRIDE"] ?? 19);

/** A turn, as docs/http-api.md says. */
interface HealthAnswer {
  readonly degraded: boolean;
}

/** No server to be had is a reason to skip; CI installs one. */
test.skipIf(!redisInstalled)(
  "a Redis server that is killed at a step of the log costs no event and no second prompt, and the log is whole in it afterwards",
  { timeout: 3_600_000 },
  async () => {
    const home = temporaryHome();
    const redis = await redisServer();
    await using wire = await Tripwire.open(redis.url.slice("unix:".length), () => redis.kill());
    const ide = await simulator({ home, turn: { rate: 500, chunk: 8 }, plan: { unlimited: true } });
    const start = (name: string) =>
      gateway({ home, args: ["--continuity", "off"], env: sharedStore(wire.url, home, name) });
    const first = await start("a");
    const fetched = async (path: string, from = first) => {
      const response = await fetch(`${from.url}${path}`, { headers: { authorization: `Bearer ${from.key}` } });
      return response.text();
    };
    const isDegraded = async () => /^millrace_degraded (\d)$/m.exec(await fetched("/metrics"))?.[1] === "1";
    const asked = async (name: string) => {
      const text = `${name} goes on for a while, so that it takes a few events to say all of it.`;
      const { data, response } = await openai(first)
        .chat.completions.create({ ...ask(`${name}. [[sim: text="${text}"]]`), stream: true })
        .withResponse();
      let got = "";
      for await (const chunk of data) got += chunk.choices[0]?.delta.content ?? "";
      expect(got).toBe(text);
      return { name, text, turn: response.headers.get("x-millrace-turn") ?? "" };
    };
    wire.set(undefined);
    const turns = [await asked("turn-calm-end")];
    const { steps } = wire;
    expect(steps).toBeGreaterThan(10);
    for (let nth = 1; nth <= steps; nth += stride) {
      for (const when of ["before", "after"] as const) {
        const { fallen } = wire.set({ when, nth });
        const answer = asked(`turn-${nth}-${when}-end`);
        await Promise.all([fallen, answer]);
        turns.push(await answer);
        await expect.poll(isDegraded, { timeout: patienceMs }).toBe(true);
        await redis.start();
        await expect.poll(isDegraded, { timeout: patienceMs }).toBe(false);
      }
    }
    const events = async (turn: string, from = first) => eventsOf(await fetched(`/v1/turns/${turn}/events`, from));
    const isStored = async (turn: string) => !(JSON.parse(await fetched(`/v1/turns/${turn}`)) as HealthAnswer).degraded;
    const stored = await Promise.all(turns.map(({ turn }) => isStored(turn)));
    expect(stored).toContain(true);
    const before = await Promise.all(turns.map(({ turn }) => events(turn)));
    await first.kill();
    await redis.kill();
    await redis.start();
    const second = await start("b"); // which knows nothing but what the server has
    for (const [i, { turn, text }] of turns.entries()) {
      const after = await events(turn, second);
      expect(stored[i] ? after : before[i]).toEqual(before[i]);
      if (!stored[i] && after.length === 0) continue; // its beginning was not stored
      const deltas = after.filter(({ event }) => event === "text");
      expect(deltas.map(({ data }) => (JSON.parse(data) as { delta: string }).delta).join("")).toBe(text);
      expect(after.filter(({ event }) => event === "finished")).toHaveLength(1);
    }
    const { messages } = await ide.until(({ cascades }) => cascades.every(({ archived }) => archived), patience());
    const accepted = turns.map(({ name }) => messages.filter(({ text }) => text.includes(name)).length);
    expect(accepted).toEqual(turns.map(() => 1));
  },
);
