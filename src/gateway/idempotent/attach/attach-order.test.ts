import { describe, expect, test } from "vitest";
import { FakeClock } from "../../../base/clock.fake.ts";
import type { StreamName } from "../../../log/client-stream.ts";
import { AttachOrder, type AttachPlace } from "./attach-order.ts";

const name: StreamName = { caller: "caller", name: "stream", clientKey: undefined };
const never = new AbortController().signal;

function open() {
  const clock = new FakeClock();
  const order = new AttachOrder(clock);
  const come = (life?: string, other: Partial<StreamName> = {}) => order.come({ ...name, ...other }, life);
  return { clock, come };
}

/** The state of an attach that may wait. */
function watched(place: AttachPlace, signal = never) {
  const seen: { state: "waits" | "alone" | "not alone" | "out"; why?: unknown } = { state: "waits" };
  place.untilFree(signal).then(
    (isAlone) => Object.assign(seen, { state: isAlone ? "alone" : "not alone" }),
    (why: unknown) => Object.assign(seen, { state: "out", why }),
  );
  return seen;
}

describe("an attach", () => {
  test("is free at once on a new stream, on one whose other attaches left, and on another stream", async () => {
    const { come, clock } = open();
    const first = come();
    expect(await first.untilFree(never)).toBe(true);
    first.close();
    expect(await come().untilFree(never)).toBe(true);
    for (const other of [{ caller: "other" }, { name: "other" }])
      expect(await come(undefined, other).untilFree(never)).toBe(true);
    expect(clock.sleeping).toBe(0);
  });

  test("waits for an attach that stays, for a quarter of a second at most", async () => {
    const { come, clock } = open();
    come();
    const place = come();
    const second = watched(place);
    await clock.advance(249);
    expect(second.state).toBe("waits");
    await clock.advance(1);
    expect(second.state).toBe("not alone");
    expect(await place.untilFree(never)).toBe(false); // it has waited
  });

  test("is free as soon as the one before it leaves, and only then", async () => {
    const { come, clock } = open();
    const first = come();
    const place = come();
    const [second, third] = [watched(place), watched(come())];
    await clock.advance(100);
    first.close();
    await clock.advance(0);
    expect([second.state, third.state]).toEqual(["alone", "waits"]);
    place.close();
    await clock.advance(0);
    expect(third.state).toBe("alone");
  });

  test("does not wait for an attach whose client has left", async () => {
    const { come, clock } = open();
    const first = come();
    const second = watched(come());
    first.letPass();
    await clock.advance(0);
    expect(second.state).toBe("alone");
  });

  test("whose connection closes while it waits learns that, and may keep waiting for the others", async () => {
    const { come, clock } = open();
    const first = come();
    const gone = new AbortController();
    const place = come();
    const late = watched(place, gone.signal);
    await clock.advance(200);
    gone.abort(new Error("cut"));
    await clock.advance(0);
    expect(late).toMatchObject({ state: "out", why: { message: "cut" } });
    expect(clock.sleeping).toBe(0);
    const still = watched(place);
    first.close();
    await clock.advance(0);
    expect(still.state).toBe("alone");
  });

  test("is overtaken once a later one takes the stream over, and by no earlier one", () => {
    const { come } = open();
    const [first, second, third] = [come(), come(), come()];
    first.take();
    expect([first, second, third].map(({ isOvertaken }) => isOvertaken)).toEqual([false, false, false]);
    third.take();
    third.close();
    expect([first, second, third].map(({ isOvertaken }) => isOvertaken)).toEqual([true, true, false]);
    second.take();
    expect([first, second, third].map(({ isOvertaken }) => isOvertaken)).toEqual([true, true, false]);
  });

  test("of a client that counts waits for no other one of its own life: which is the older is the log's to say", async () => {
    const { come, clock } = open();
    come("a");
    expect(await come("a").untilFree(never)).toBe(true);
    expect(clock.sleeping).toBe(0);
  });

  test("of another client life waits, whether or not clients count", async () => {
    const { come, clock } = open();
    const first = come("a");
    const other = watched(come("b"));
    const unknown = watched(come());
    await clock.advance(100);
    expect([other.state, unknown.state]).toEqual(["waits", "waits"]);
    first.close();
    await clock.advance(0);
    expect(other.state).toBe("alone");
  });
});
