import { readFileSync } from "node:fs";
import { setTimeout } from "node:timers/promises";
import { expect, test } from "vitest";
import { ask, patienceMs, world } from "../support/world.ts";

const minuteMs = 60_000;
/** The plan is read after a turn, its conversation is archived, and V8 tidies its heap: that is over after some minutes. */
const mostMinutes = 6;

/** What a process had the system write to a disk, in bytes, and how often its main thread was woken. Source: proc(5), `/proc/pid/io`, `/proc/pid/status`. */
function countsOf(pid: number) {
  const numberIn = (file: string, name: string) =>
    Number(new RegExp(`^${name}:\\s*(\\d+)`, "m").exec(readFileSync(`/proc/${pid}/${file}`, "utf8"))?.[1]);
  return { written: numberIn("io", "write_bytes"), wakeUps: numberIn("status", "voluntary_ctxt_switches") };
}

test.skipIf(process.platform !== "linux")(
  "a gateway that nobody asks comes to rest: it writes nothing, and wakes at most 30 times a minute",
  { timeout: patienceMs + mostMinutes * minuteMs },
  async () => {
    const { client, served } = await world({});
    await client.chat.completions.create(ask("count to 3"));
    const minutes: { written: number; wakeUps: number; isQuiet: boolean }[] = [];
    const atRest = expect.objectContaining({ written: 0, isQuiet: true }) as unknown;
    while (minutes.length < mostMinutes && minutes.at(-1)?.isQuiet !== true) {
      const before = countsOf(served.pid);
      await setTimeout(minuteMs); // not for an event: this minute is what is measured
      const after = countsOf(served.pid);
      const [written, wakeUps] = [after.written - before.written, after.wakeUps - before.wakeUps];
      minutes.push({ written, wakeUps, isQuiet: written === 0 && wakeUps <= 30 });
    }
    expect(minutes).toContainEqual(atRest);
  },
);
