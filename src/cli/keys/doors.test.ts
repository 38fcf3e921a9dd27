import { expect, test } from "vitest";
import { FakeClock } from "../../base/clock.fake.ts";
import { MillraceError } from "../../base/errors.ts";
import { openDoors } from "./doors.ts";
import type { KeyRecord } from "./key-record.ts";

const record = (name: string, door?: number): KeyRecord => ({
  id: name,
  name,
  createdAtMs: 0,
  salt: "s",
  hash: "0".repeat(64),
  models: [],
  ...(door === undefined ? {} : { door }),
});

/** Doors over a list of keys that a test changes, and what became of each listener. */
function opened(...list: readonly KeyRecord[]) {
  const keys = new Map(list.map((key) => [key.name, key]));
  const heard: string[] = [];
  const clock = new FakeClock();
  const openDoor = async ({ port }: { readonly port: number }) => {
    await Promise.resolve();
    if (port < 1024) throw new MillraceError("invalid_request", `Port ${port} is not allowed.`);
    heard.push(`open ${port}`);
    const say = (what: string) => async () => void heard.push(`${what} ${port}`);
    return {
      url: "",
      port,
      openAnswers: () => 0,
      connections: () => ({ open: 1, ever: 2 }),
      stopAccepting: say("stop"),
      close: say("close"),
    };
  };
  const doors = openDoors({ keys: { all: () => keys, ofCaller: () => undefined }, gateway: { openDoor }, clock });
  return { keys, heard, clock, doors };
}

test("each key that works and has a port has one door, however often and fast the list changes", async () => {
  const { doors, heard } = opened(record("ada", 2001), record("ci"), { ...record("old", 2002), revokedAtMs: 1 });
  await Promise.all([doors.adjust(), doors.adjust(), doors.adjust()]);
  expect(heard).toEqual(["open 2001"]);
  expect(doors.withConnections({ open: 1, ever: 1 })).toEqual({ open: 2, ever: 3 });
});

test("a key that ends takes its door with it, and the answers that run there go on", async () => {
  const { doors, heard, keys, clock } = opened(record("ada", 2001), {
    ...record("ci", 2002),
    expiresAtMs: 5 + new FakeClock().now(),
  });
  await doors.adjust();
  keys.set("ada", { ...record("ada", 2001), revokedAtMs: 2 });
  await clock.advance(5);
  await doors.adjust();
  expect(heard).toEqual(["open 2001", "open 2002", "stop 2001", "stop 2002"]);
  await doors.close();
  expect(heard.slice(4)).toEqual(["close 2001", "close 2002"]);
});

test("a door that cannot be opened is named, and the others open; the next look tries it again", async () => {
  const { doors, heard, keys } = opened(record("low", 80), record("ada", 2001));
  expect(await doors.adjust()).toEqual(["The door of the key low is closed: Port 80 is not allowed."]);
  keys.set("low", record("low", 2080));
  expect(await doors.adjust()).toEqual([]);
  expect(heard).toEqual(["open 2001", "open 2080"]);
});

test("a gateway that stops opens no door any more, also not for a change that is under way", async () => {
  const { doors, heard, keys } = opened(record("ada", 2001));
  const underWay = doors.adjust();
  await doors.stopAccepting();
  await underWay;
  keys.set("ci", record("ci", 2002));
  await doors.adjust();
  expect(heard).toEqual([]);
});
