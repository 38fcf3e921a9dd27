import { join } from "node:path";
import { expect, test } from "vitest";
import { fourApis } from "../support/four-apis.ts";
import { temporaryHome } from "../support/home.ts";
import { mayMount, smallDisk } from "../support/small-disk.ts";
import { degradedGauge, gateway, patience, patienceMs, simulator } from "../support/world.ts";

/** Mounting needs a right that not every user has: a reason to skip. */
test.skipIf(!mayMount).for(Object.entries(fourApis))(
  "a disk that fills while %s answers costs no answer and no second prompt, then and after a restart",
  { timeout: patienceMs },
  async ([api, send]) => {
    const home = temporaryHome();
    const disk = smallDisk(16);
    const ide = await simulator({ home, turn: { rate: 1_000, size: 400, holdAfter: 60 } });
    const env = { MILLRACE_HOME: join(disk.folder, "data") };
    const start = () => gateway({ home, env, args: ["--continuity", "off"] });
    const first = await start();
    const seen = (text: string) =>
      ide.until(({ messages }) => messages.some((one) => one.text.includes(text)), patience());
    const prompts = async () => (await ide.report()).messages.length;

    const asked = send(first, "as it fills", "as it fills");
    await seen("as it fills");
    disk.fill();
    await ide.release();
    const told = await asked;
    expect([api, told.error]).toEqual([api, ""]);
    const isStream = api === "stream protocol";
    // an attach to a stream is stored first, so its client is told to wait; its answer is there afterwards
    const refused = { error: expect.stringContaining("no room left") as unknown, answer: "" };
    const again = isStream ? refused : told;
    expect(await send(first, "as it fills", "as it fills")).toEqual(again);
    const full = send(first, "while it is full", "while it is full");
    await seen("while it is full");
    await ide.release();
    const toldFull = await full;
    expect(toldFull.error).toBe("");
    expect(await send(first, "while it is full", "while it is full")).toEqual(toldFull);
    expect(await prompts()).toBe(2);

    disk.free();
    await expect.poll(() => degradedGauge(first), { timeout: patienceMs }).toBe(0);
    await first.kill();
    const second = await start();
    expect(await send(second, "as it fills", "as it fills")).toEqual(told);
    const inMemoryOnly = isStream; // a stream that was begun on the full disk says in its welcome that it will not survive
    const once = inMemoryOnly ? toldFull : await send(second, "while it is full", "while it is full");
    expect(once).toEqual(toldFull);
    expect(await prompts()).toBe(2);
  },
);
