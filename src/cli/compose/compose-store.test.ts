import { rmSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../../test/support/temporary.ts";
import { FakeClock } from "../../base/clock.fake.ts";
import { Emitter } from "../../base/emitter.ts";
import type { StoreLifecycle } from "../../log/lifecycle.ts";
import { defaultRetention } from "../../log/store.ts";
import { newTurn } from "../../log/turn.fake.ts";
import { openStore } from "./compose-store.ts";

test("a store whose key is lost reports once how many turns cannot be read", async () => {
  const folder = temporaryFolder();
  const logKeyFile = join(folder, "log-key");
  const start = async () => {
    const events = new Emitter<StoreLifecycle>();
    for (const name of ["store_failed", "store_damaged"] as const) events.on(name, () => expect.unreachable());
    const { store, unreadableTurns } = await openStore({
      storeFile: join(folder, "turns.db"),
      redis: undefined,
      home: "home",
      logKeyFile,
      retention: defaultRetention,
      clock: new FakeClock(),
      events,
    });
    const known = await store.list({ limit: 9 });
    await store.create(newTurn(), "me");
    await store.close();
    return [unreadableTurns, known.length];
  };
  expect(await start()).toEqual([0, 0]);
  expect(await start()).toEqual([0, 1]);
  rmSync(logKeyFile);
  expect(await start()).toEqual([2, 0]);
  expect(await start()).toEqual([0, 1]);
});
