import { expect, test } from "vitest";
import { FakeClock } from "../base/clock.fake.ts";
import { openMemoryLog } from "../log/memory-log.fake.ts";
import { keepHouse } from "./lease.ts";

test("a sweep and a look for turns that take long hold up no renewal of the lease", async () => {
  const clock = new FakeClock();
  const store = openMemoryLog({ clock });
  const stop = new AbortController();
  const endless = Promise.withResolvers<void>();
  let [renewed, swept, looked] = [0, 0, 0];
  const slow = Object.assign(store, {
    capabilities: { ...store.capabilities, survivesRestart: true },
    renewOwner: async () => {
      renewed++;
    },
    sweep: () => {
      swept++;
      return endless.promise;
    },
  });
  const adopt = () => {
    looked++;
    return endless.promise;
  };
  const problems: unknown[] = [];
  const kept = keepHouse({ store: slow, owner: "me", clock }, adopt, (error) => problems.push(error), stop.signal);
  await clock.advance(120_000);
  expect([renewed, swept, looked]).toEqual([41, 1, 1]);
  stop.abort();
  endless.resolve();
  await kept;
  expect(problems).toEqual([]);
  await store.close();
});
