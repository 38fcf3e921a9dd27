import { describe, expect, test } from "vitest";
import { FakeClock } from "../../base/clock.fake.ts";
import type { StreamName } from "../../log/client-stream.ts";
import { AttachOrder } from "./attach-order.ts";

const name: StreamName = { caller: "caller", name: "stream", clientKey: undefined };
const never = new AbortController().signal;

function open() {
  const clock = new FakeClock();
  return { clock, order: new AttachOrder(clock) };
}

/** What became of an attach that may wait. */
function watched(entering: Promise<() => void>) {
  const seen: { state: "waits" | "in" | "out"; why?: unknown; leave?: () => void } = { state: "waits" };
  entering.then(
    (leave) => Object.assign(seen, { state: "in", leave }),
    (why: unknown) => Object.assign(seen, { state: "out", why }),
  );
  return seen;
}

describe("an attach", () => {
  test("enters at once where nobody is, where others have left, and on another stream", async () => {
    const { order, clock } = open();
    const leave = await order.enter(name, undefined, never);
    leave();
    await order.enter(name, undefined, never);
    for (const other of [{ caller: "other" }, { name: "other" }])
      await order.enter({ ...name, ...other }, undefined, never);
    expect(clock.sleeping).toBe(0);
  });

  test("waits for the one that is there, for a quarter of a second and not longer", async () => {
    const { order, clock } = open();
    await order.enter(name, undefined, never);
    const second = watched(order.enter(name, undefined, never));
    await clock.advance(249);
    expect(second.state).toBe("waits");
    await clock.advance(1);
    expect(second.state).toBe("in");
  });

  test("enters as soon as the one before it leaves, and only then", async () => {
    const { order, clock } = open();
    const leave = await order.enter(name, undefined, never);
    const second = watched(order.enter(name, undefined, never));
    const third = watched(order.enter(name, undefined, never));
    await clock.advance(100);
    leave();
    await clock.advance(0);
    expect([second.state, third.state]).toEqual(["in", "waits"]);
    second.leave?.();
    await clock.advance(0);
    expect(third.state).toBe("in");
  });

  test("whose connection goes while it waits takes nothing over, and holds nobody up", async () => {
    const { order, clock } = open();
    await order.enter(name, undefined, never);
    const gone = new AbortController();
    const late = watched(order.enter(name, undefined, gone.signal));
    await clock.advance(200);
    gone.abort(new Error("cut"));
    await clock.advance(1_000);
    expect(late).toMatchObject({ state: "out", why: { message: "cut" } });
    expect(clock.sleeping).toBe(0);
  });

  test("of a client that counts waits for no other one of its own life: which is the older is the log's to say", async () => {
    const { order, clock } = open();
    await order.enter(name, "a", never);
    await order.enter(name, "a", never);
    expect(clock.sleeping).toBe(0);
  });

  test("of another life waits, whoever counts", async () => {
    const { order, clock } = open();
    const leave = await order.enter(name, "a", never);
    const other = watched(order.enter(name, "b", never));
    const unknown = watched(order.enter(name, undefined, never));
    await clock.advance(100);
    expect([other.state, unknown.state]).toEqual(["waits", "waits"]);
    leave();
    await clock.advance(0);
    expect(other.state).toBe("in");
  });
});
