import { join } from "node:path";
import { expect, test } from "vitest";
import { fourApis } from "../support/four-apis.ts";
import { temporaryHome } from "../support/home.ts";
import { mayMount, smallDisk } from "../support/small-disk.ts";
import { degradedGauge, gateway, patience, patienceMs, simulator } from "../support/world.ts";

/** Mounting needs a right that not every user has: a reason to skip. */
test.skipIf(!mayMount)(
  "a disk that is full as the next gateway takes the turns of one that was killed costs no answer and no second prompt",
  { timeout: 2 * patienceMs },
  async () => {
    const home = temporaryHome();
    const disk = smallDisk(16);
    const ide = await simulator({ home, turn: { rate: 1_000, size: 400, holdAfter: 60 } });
    const env = { MILLRACE_HOME: join(disk.folder, "data") };
    const start = () => gateway({ home, env, args: ["--continuity", "off"] });
    const apis = Object.entries(fourApis);
    const first = await start();
    const left = Promise.allSettled(apis.map(([api, send]) => send(first, `by ${api}`, api)));
    await ide.until(({ messages }) => messages.length === apis.length, patience());
    await first.kill();
    await left;
    disk.fill();
    const second = await start();
    const again = Promise.all(apis.map(([api, send]) => send(second, `by ${api}`, api)));
    await ide.release();
    await expect.poll(() => degradedGauge(second), { timeout: patienceMs }).toBe(1);
    const [overStream, ...told] = (await again).map(({ error }) => error).reverse();
    expect(overStream).toContain("no room left"); // its attach is not stored
    for (const error of told)
      expect(error).toMatch(/goes on once the log can be written.*no room left.*send the same request/s);
    disk.free();
    for (const [api, send] of apis) {
      const whole = async () => [api, (await send(second, `by ${api}`, api)).error];
      await expect.poll(whole, { timeout: patienceMs }).toEqual([api, ""]);
    }
    expect((await ide.report()).messages).toHaveLength(apis.length);
  },
);
