import { describe, expect, test } from "vitest";
import { FakeClock } from "../../../base/clock.fake.ts";
import { until } from "../../../base/wait.fake.ts";
import { detailsOf, say, tierNames } from "../raw-client.fake.ts";
import { attach, headersOf, newNames, streamWorld } from "../stream-world.fake.ts";

/** Until as many of the gateway's parts wait for the clock. */
async function sleeping(clock: FakeClock, many: (count: number) => boolean): Promise<void> {
  await until(() => many(clock.sleeping));
}

describe.each(tierNames)("over %s, an attach that the gateway works on after a later one", (tier) => {
  async function begun(numbered: boolean) {
    const clock = new FakeClock();
    const world = await streamWorld({ clock, quotas: { openStreams: 2, attachesPerMinute: 100_000 } });
    const names = newNames();
    const as = (number: number): Record<string, string> =>
      numbered ? { "x-millrace-attach": `a-life.${number}` } : {};
    const living = world.client.attach(tier, headersOf(names, "0", as(2))).send(say.request("Hello"));
    await living.until(({ acks, chunks }) => acks.includes(0) && chunks.length > 0);
    return { clock, world, names, living, as };
  }

  type Begun = Awaited<ReturnType<typeof begun>>;

  /** Until the gateway knows that one of the two attaches that it allows has left: one more is refused until then. */
  async function untilRoom({ world }: Begun): Promise<void> {
    for (let isIn = false; !isIn; ) {
      const other = attach(world, tier, newNames());
      isIn = await Promise.race([
        other.until(({ welcome }) => welcome !== undefined).then(() => true),
        other.ended.then((error) => detailsOf(error).info["reason"] !== "too_many_streams"),
      ]).catch(() => false);
      await other.cut();
    }
  }

  /** The end of the living attach, its chunks, and the epoch of the next one. */
  async function goneOn({ world, names, living }: Begun) {
    world.backend.last.text("Hi");
    world.backend.last.finish("Hi");
    const ended = await living.ended;
    const next = await attach(world, tier, names).until(({ welcome }) => welcome !== undefined);
    await next.cut();
    return { ended, text: living.text, nextEpoch: next.welcome?.facts?.epoch };
  }

  const untouched = { ended: undefined, text: "Hi", nextEpoch: 2 };

  test("takes over nothing once its connection is known to be closed, also without a number", async () => {
    const all = await begun(false);
    const { clock, world, names } = all;
    const before = clock.sleeping;
    const late = attach(world, tier, names).send(say.request("Hello"));
    await sleeping(clock, (count) => count > before);
    await late.cut();
    await untilRoom(all);
    await clock.advance(1_000);
    expect(await goneOn(all)).toEqual(untouched);
  });

  test("gets `superseded` at once if its client counts attaches", async () => {
    const all = await begun(true);
    const late = all.world.client.attach(tier, headersOf(all.names, "0", all.as(1))).send(say.request("Hello"));
    expect(detailsOf(await late.ended).info).toMatchObject({ reason: "superseded" });
    expect(await goneOn(all)).toEqual(untouched);
  });

  test("takes over, if it lives: it is another window's then", async () => {
    const { clock, world, names, living } = await begun(false);
    const before = clock.sleeping;
    const other = attach(world, tier, names);
    await sleeping(clock, (count) => count > before);
    await clock.advance(250);
    await other.until(({ welcome }) => welcome !== undefined);
    expect(detailsOf(await living.ended).info).toMatchObject({ reason: "superseded" });
  });
});
