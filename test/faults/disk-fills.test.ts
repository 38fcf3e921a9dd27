import { join } from "node:path";
import { expect, test } from "vitest";
import { type ApiAnswer, fourApis } from "../support/four-apis.ts";
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
    // a key promises what a full disk cannot keep; without one, and for a stream, memory is enough
    const keyed = isStream ? refused : await send(first, "while it is full", "while it is full");
    expect(keyed).toEqual(refused);
    expect(await prompts()).toBe(1);
    const full = send(first, "while it is full");
    await seen("while it is full");
    await ide.release();
    expect((await full).error).toBe("");
    expect(await prompts()).toBe(2);

    disk.free();
    await expect.poll(() => degradedGauge(first), { timeout: patienceMs }).toBe(0);
    await first.kill();
    const second = await start();
    // what came while the disk was full was never stored: the next gateway reads it from the IDE, and ends the turn at its own time
    const undated = ({ error, answer }: ApiAnswer) => [error, answer.replace(/"completed_at":\d+/, "")];
    expect(undated(await send(second, "as it fills", "as it fills"))).toEqual(undated(told));
    expect(await prompts()).toBe(2);
  },
);
