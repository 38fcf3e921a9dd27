import * as fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { anyCharacter } from "../../test/support/any-character.ts";
import { isMillraceError } from "../base/errors.ts";
import { startOfLog, type TurnId } from "../base/ids.ts";
import type { TurnEventBody } from "./event.ts";
import { eachOf, readTurn } from "./read-turn.ts";
import type { RowsAbilities } from "./rows.ts";
import type { LogStore } from "./store.ts";
import { describeEvents } from "./store-events.conformance.ts";
import { describeTurns } from "./store-turns.conformance.ts";
import { bodiesOf, finished, never, type StoreHarness, StoreWorld, text } from "./store-world.fake.ts";
import { describeStreams } from "./streams.conformance.ts";
import { newTurn } from "./turn.fake.ts";

type AnyStep =
  | { readonly do: "append"; readonly bodies: readonly TurnEventBody[] }
  | { readonly do: "read"; readonly at: number; readonly limit: number }
  | { readonly do: "claim" }
  | { readonly do: "zombie" };
type Step<Kind extends AnyStep["do"]> = AnyStep & { readonly do: Kind };

/** The cases that every log store passes; the same cases in the same order for each. */
export function describeLogStore(
  name: string,
  capabilities: RowsAbilities,
  makeHarness: () => Promise<StoreHarness>,
): void {
  describe(`log store: ${name}`, () => {
    const world = new StoreWorld(makeHarness);
    beforeEach(() => world.open());
    afterEach(() => world.dispose());
    const { begin, collect } = world;

    test("says what it can do", () => {
      expect(world.store.capabilities).toEqual(capabilities);
    });

    describeEvents(world, capabilities);
    describeTurns(world);
    describeStreams(
      () => world.store,
      () => world.clock,
    );

    test.skipIf(!capabilities.survivesRestart)("a cancel at any moment of a claim reaches who claims", async () => {
      const turns = await Promise.all(Array.from({ length: 60 }, () => begin()));
      await world.reopen();
      const told = turns.map(async ({ turnId }, later) => {
        const claiming = world.store.claim(turnId, "owner-2");
        for (let step = 0; step < later; step++) await Promise.resolve();
        await Promise.all([claiming, world.store.requestCancel(turnId, "client")]);
        return world.store.untilCancelRequested(turnId, never);
      });
      expect(new Set(await Promise.all(told))).toEqual(new Set(["client"]));
    });

    test.skipIf(!capabilities.survivesRestart)("keeps everything when it is opened again", async () => {
      const { turnId, writer } = await begin({ idempotencyKey: "k" });
      await writer.append([text("a"), text("b")], 1);
      await world.store.requestCancel(turnId, "client");
      await world.store.noteReader(turnId, world.clock.now(), Infinity);
      await world.reopen();
      const kept = { lastEventId: "a2", cancelRequested: "client", graceMs: Infinity };
      expect(await world.store.get(turnId)).toMatchObject(kept);
      const again = (await world.store.claim(turnId, "owner-2"))?.writer;
      expect(await writer.append([text("zombie")], 2).catch(() => "closed")).not.toBe("appended");
      await again?.append([finished], 3);
      expect(await collect(turnId)).toHaveLength(3);
    });

    describe.skipIf(!capabilities.isShared)("shared by two", () => {
      let other: LogStore;
      beforeEach(async () => {
        other = await world.openAnother();
      });
      afterEach(async () => {
        await other.close();
      });

      test("a reader at one sees what the other's writer appends, live", async () => {
        const { turnId, writer } = await begin();
        const seen: string[] = [];
        const reading = (async () => {
          for await (const event of eachOf(readTurn(other, { turnId, after: startOfLog }, never))) {
            seen.push(event.type);
            if (event.type === "text") await writer.append([finished], 2);
          }
        })();
        await writer.append([text("a")], 1);
        await reading;
        expect(seen).toEqual(["text", "finished"]);
      });

      test("an attach at one ends with a newer attach at the other, and with nothing else that is written", async () => {
        const name = { caller: "caller-1", name: "shared stream", clientKey: undefined };
        const stream = await world.store.attachStream(name, "create");
        let told = false;
        const superseded = world.store.untilSuperseded(stream, never).then(() => (told = true));
        const { turnId } = await begin();
        const moved = world.store.untilCancelRequested(turnId, never);
        await other.requestCancel(turnId, "client");
        await moved; // by now what the other wrote was seen here
        expect(told).toBe(false);
        await other.attachStream(name, "resume");
        await superseded;
      });

      test("a cancel at one reaches the writer at the other", async () => {
        const { turnId } = await begin();
        const waiting = world.store.untilCancelRequested(turnId, never);
        await other.requestCancel(turnId, "client");
        expect(await waiting).toBe("client");
      });

      test("one key at both is one turn, and a claim at one fences the other's writer", async () => {
        const { turnId, writer } = await begin({ idempotencyKey: "k" });
        const twin = await other.create(newTurn({ idempotencyKey: "k" }), "owner-2");
        expect(twin.record.turnId).toBe(turnId);
        const claimed = await other.claim(turnId, "owner-2");
        expect(claimed).toBeDefined();
        expect(await writer.append([text("zombie")], 1)).toBe("fenced");
      });
    });

    test("random operations give what the model gives, for every cursor and every reader", async () => {
      const body = fc.oneof(
        fc.string({ unit: anyCharacter, maxLength: 20 }).map(text),
        fc.string({ maxLength: 5 }).map((delta): TurnEventBody => ({ type: "thinking", delta })),
      );
      const operation = fc.oneof(
        {
          weight: 6,
          arbitrary: fc.record({ do: fc.constant("append" as const), bodies: fc.array(body, { maxLength: 4 }) }),
        },
        {
          weight: 3,
          arbitrary: fc.record({
            do: fc.constant("read" as const),
            at: fc.nat(),
            limit: fc.integer({ min: 1, max: 5 }),
          }),
        },
        { weight: 1, arbitrary: fc.record({ do: fc.constant("claim" as const) }) },
        { weight: 1, arbitrary: fc.record({ do: fc.constant("zombie" as const) }) },
      );
      await fc.assert(
        fc.asyncProperty(fc.array(operation, { maxLength: 25 }), async (operations) => {
          const { turnId, writer: first } = await begin();
          const writers = [first];
          const model: TurnEventBody[] = [];
          const run = {
            append: async (step: Step<"append">) => {
              await writers.at(-1)?.append(step.bodies, 1);
              model.push(...step.bodies);
            },
            claim: async () => {
              const claimed = await world.store.claim(turnId, "owner");
              if (claimed !== undefined) writers.push(claimed.writer);
            },
            zombie: async () => {
              const zombies = writers.slice(0, -1);
              const outcomes = await Promise.all(zombies.map((zombie) => zombie.append([text("z")], 1)));
              expect(outcomes).toEqual(zombies.map(() => "fenced"));
            },
            read: async (step: Step<"read">) => {
              const whole = await world.store.readAfter(turnId, startOfLog, { limit: 1000 });
              const k = step.at % (model.length + 1);
              const cursor = whole.events[k - 1]?.eventId ?? startOfLog;
              const suffix = await world.store.readAfter(turnId, cursor, { limit: step.limit });
              expect(suffix.events).toEqual(whole.events.slice(k, k + step.limit)); // P5, P6
              expect(bodiesOf(whole.events)).toEqual(model);
            },
          };
          for (const step of operations) await run[step.do](step as never); // each entry takes its own kind of step
          await writers.at(-1)?.append([finished], 2);
          expect(await collect(turnId)).toHaveLength(model.length + 1);
        }),
        { numRuns: 12 },
      );
    });

    test("nothing but our own errors crosses its border", async () => {
      const error: unknown = await world.store
        .requestCancel("turn_none" as TurnId, "client")
        .catch((caught: unknown) => caught);
      expect(isMillraceError(error)).toBe(true);
    });
  });
}
