import { expect, test } from "vitest";
import { FakeClock } from "../../base/clock.fake.ts";
import { FakeHost, fakeWindsurf } from "../host/host.fake.ts";
import { verifyHolder } from "./verify-holder.ts";

const { signal } = new AbortController();
const holder = { pid: 10, startedAtMs: fakeWindsurf(10, 4000).row.startedAtMs, host: "127.0.0.1", port: 4000 };

/** A machine whose look at the sockets holds this process for a while; `refused`: how often it fails. */
function machine(heldMs: number, refused: number) {
  const host = new FakeHost();
  host.add(fakeWindsurf(10, 4000));
  let held = 0;
  const clock = new (class extends FakeClock {
    override monotonic(): number {
      return super.monotonic() + held;
    }
  })();
  host.beforeAnswer = () => {
    held += heldMs;
    if (refused-- <= 0) host.beforeAnswer = undefined;
    return { ok: false, why: "netstat took too long" };
  };
  const looks = () => host.socketQuestions;
  return { host, clock, looks };
}

test.each([
  [1_200, 1, true, 3],
  [1_200, 9, false, 3],
  [1_050, 9, false, 1],
])(
  "a no of a check that was held for %s ms is asked again, three times in all (%s refusals: %s)",
  async (heldMs, refusals, ok, looks) => {
    const { host, clock, looks: looked } = machine(heldMs, refusals);
    expect((await verifyHolder(host, holder, clock, signal)).ok).toBe(ok);
    expect(looked()).toBe(looks);
    expect(clock.sleeping).toBe(0);
  },
);

test.each([
  ["another start", { startedAtMs: 1 }, "another one has its number"],
  ["another port", { port: 4001 }, "no longer listens"],
  ["another address", { host: "::1" }, "no longer listens"],
  ["an address of the network", { host: "192.168.0.1" }, "not loopback"],
  ["another process", { pid: 11 }, "has ended"],
])("%s is not the holder", async (_, other, why) => {
  const { host, clock } = machine(0, 0);
  host.beforeAnswer = undefined;
  expect(await verifyHolder(host, { ...holder, ...other }, clock, signal)).toMatchObject({
    ok: false,
    why: expect.stringContaining(why),
  });
});
