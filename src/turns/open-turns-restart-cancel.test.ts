import { describe, expect, test } from "vitest";
import type { Backend } from "../backends/backend.ts";
import { FakeClock } from "../base/clock.fake.ts";
import { MillraceError } from "../base/errors.ts";
import { idle } from "../base/wait.fake.ts";
import { openMemoryLog } from "../log/memory-log.fake.ts";
import { FakeBackend, fakeCascade } from "./backend.fake.ts";
import { asking, durable, goingOn, record, stoppedTurns } from "./turns.fake.ts";

const never = new AbortController().signal;
/** Turns that are stopped after the test. */
const begin = stoppedTurns();

describe("a stop of the gateway", () => {
  test("with a cancel not yet carried out leaves it to the next process, which ends and archives the turn", async () => {
    const clock = new FakeClock();
    const store = durable(openMemoryLog({ clock }));
    const { writer } = await store.create(record(clock), "gone");
    if (writer === undefined) throw new Error("not created");
    const started = { type: "started", modelUid: "m" as never, backend: "cascade", cascadeId: fakeCascade } as const;
    await writer.append([started], clock.now());
    await store.requestCancel(writer.turnId, "client");
    const { backend, turns } = begin({ store, clock });
    await turns.untilEnded(writer.turnId, never);
    expect(await turns.get(writer.turnId)).toMatchObject({ outcome: "cancelled" });
    expect(backend.answers).toHaveLength(1);
    expect(backend.last).toMatchObject({ resumedFrom: { cascadeId: fakeCascade }, stoppedBy: "cancel", closed: true });
  });

  test.each([
    { by: "client", cleanUpMs: 300 },
    { by: "client", cleanUpMs: 5_000 },
    { by: "superseded", cleanUpMs: 300 },
    { by: "superseded", cleanUpMs: 5_000 },
    { by: "abandoned", cleanUpMs: 300 },
    { by: "abandoned", cleanUpMs: 5_000 },
  ] as const)(
    "is ended as $by once its backend has cleaned up ($cleanUpMs ms), or after a second, and a crash meanwhile loses nothing",
    async ({ by, cleanUpMs }) => {
      const clock = new FakeClock();
      const store = openMemoryLog({ clock });
      const inner = new FakeBackend();
      const slow: Backend = {
        kind: "cascade",
        resume: (...asked) => inner.resume(...asked),
        archive: () => Promise.resolve(),
        async *run(prompt, options, signal) {
          try {
            yield* inner.run(prompt, options, signal);
          } finally {
            await clock.sleep(cleanUpMs, never);
          }
        },
      };
      const { turns } = begin({
        store,
        clock,
        backends: { choose: () => Promise.resolve(slow), holding: () => Promise.resolve(slow) },
      });
      const client = new AbortController();
      const { turnId } = await turns.start(asking({ session: "s", graceMs: 10_000 }), client.signal);
      client.abort();
      await inner.prompted();
      if (by === "client") void turns.cancel(turnId, by);
      if (by === "superseded") void turns.start(goingOn({ session: "s", fingerprint: "body-2" }), never);
      await idle();
      if (by === "abandoned") await clock.advance(10_000);
      await clock.advance(Math.min(cleanUpMs, 1_000) - 1);
      expect(inner.answers[0]?.stoppedBy).toBe("cancel");
      expect(await turns.get(turnId)).toMatchObject({ ended: false, cancelRequested: by });
      await clock.advance(1);
      expect(await turns.get(turnId)).toMatchObject({ outcome: "cancelled" });
      const stopped = turns.stop();
      await clock.advance(10_000);
      await stopped;
    },
  );

  test.each([{ found: "within a second" }, { found: "later" }])(
    "takes a cancel while it looks for the IDE, and passes it on when the IDE is found $found",
    async ({ found }) => {
      const clock = new FakeClock();
      const store = durable(openMemoryLog({ clock }));
      const { writer } = await store.create(record(clock), "gone");
      if (writer === undefined) throw new Error("not created");
      const started = { type: "started", modelUid: "m" as never, backend: "cascade", cascadeId: fakeCascade } as const;
      await writer.append([started], clock.now());
      const backend = new FakeBackend();
      backend.missing = new MillraceError("ide_not_running", "Not yet.");
      const { turns } = begin({ store, clock, backends: backend });
      await clock.advance(2_500);
      const cancelled = turns.cancel(writer.turnId, "client");
      if (found === "within a second") backend.missing = undefined;
      await clock.advance(499);
      expect(await turns.get(writer.turnId)).toMatchObject({ ended: false, cancelRequested: "client" });
      await clock.advance(501);
      await cancelled;
      expect(await turns.get(writer.turnId)).toMatchObject({ outcome: "cancelled" });
      expect(backend.answers).toHaveLength(found === "later" ? 0 : 1);
      backend.missing = undefined;
      await clock.advance(2_000);
      expect(backend.answers).toHaveLength(1);
      expect(backend.last).toMatchObject({
        resumedFrom: { cascadeId: fakeCascade },
        stoppedBy: "cancel",
        closed: true,
      });
    },
  );
});
