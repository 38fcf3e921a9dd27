import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { temporaryFolder } from "../../../test/support/temporary.ts";
import { Emitter } from "../../base/emitter.ts";
import { until } from "../../base/wait.fake.ts";
import type { IdeFinder } from "../../ide/ide.ts";
import type { StoreLifecycle } from "../../log/lifecycle.ts";
import type { TurnLifecycle } from "../../turns/lifecycle.ts";
import { asking, fakeTurns } from "../../turns/turns.fake.ts";
import type { UsageLifecycle } from "../../usage/lifecycle.ts";
import { lastAsked, markAsked, readLimitsFile } from "../limits/limits-file.ts";
import { composeMeter, startMeter } from "./compose-meter.ts";

const never = new AbortController().signal;
const nobody: IdeFinder = {
  find: () => Promise.resolve({ ides: [], agents: [], trace: [], atMs: 0 }),
  invalidate() {},
  connect: () => Promise.reject(new Error("nothing was found")),
  close() {},
};

function parts() {
  const folder = temporaryFolder();
  const events = new Emitter<TurnLifecycle & StoreLifecycle & UsageLifecycle>();
  const fake = fakeTurns({ events });
  const io = { clock: fake.clock, env: {}, platform: "linux", homeFolder: folder } as const;
  return {
    fake,
    folder,
    options: {
      io,
      finder: nobody,
      folder,
      storeFile: join(folder, "turns.db"),
      onlyHome: undefined,
      ownsFile: false,
      events,
    },
  };
}

describe("the meter of a gateway", () => {
  it("records the turns that go through it, and writes what status lines read", async () => {
    const { fake, folder, options } = parts();
    const ended: string[] = [];
    const meter = composeMeter(options);
    options.events.on("turn_ended", (turn) => ended.push(turn.turnId));
    const metered = startMeter({
      ...meter,
      turns: fake.turns,
      events: options.events,
      nameOf: (uid) => uid,
      priceOf: () => undefined,
    });
    const { turnId } = await fake.turns.start(asking({ client: "codex/2" }), never);
    await until(() => fake.backend.answers.length !== 0);
    fake.backend.last.finish("Hi");
    await until(() => meter.meter.history.turn(turnId) !== undefined);
    expect(meter.meter.history.turn(turnId)).toMatchObject({ client: "codex", outcome: "finished" });
    expect(ended).toEqual([turnId]);
    await meter.meter.limits({ wait: true }, never);
    expect(readLimitsFile(folder)).toMatchObject({ data: [], errors: [{ code: "ide_not_running" }] });
    await metered.close();
    await fake.turns.stop();
  });

  it("counts the mark of a status line as a request for the limits", () => {
    const { folder } = parts();
    markAsked(folder, 1_750_000_000_000);
    expect(lastAsked(folder)).toBe(1_750_000_000_000);
  });
});
