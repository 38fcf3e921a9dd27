import { describe, expect, it } from "vitest";
import { FakeClock } from "../../base/clock.fake.ts";
import { MillraceError } from "../../base/errors.ts";
import type { DiscoveryResult, Ide, IdeFinder } from "../../ide/ide.ts";
import { startingIde } from "./starting-ide.ts";

const signal = new AbortController().signal;
const signedOut = new MillraceError("not_signed_in", "Nobody is signed in.");
const missing = new MillraceError("ide_not_running", "No IDE runs.");

function setUp() {
  const clock = new FakeClock();
  const machine = { runs: false, looks: 0, signedIn: true, startedAtMs: clock.now(), isKnown: false };
  let known: readonly Partial<Ide>[] = [];
  const finder: Pick<IdeFinder, "find" | "invalidate"> = {
    async find() {
      machine.looks++;
      const { runs, signedIn, startedAtMs } = machine;
      if (!machine.isKnown) known = runs ? [{ signedIn, startedAtMs }] : [];
      machine.isKnown = runs; // a result with an IDE is believed
      return { ides: known } as unknown as DiscoveryResult; // nothing else is asked of it
    },
    invalidate() {
      machine.isKnown = false;
    },
  };
  const starting = startingIde(finder, clock);
  const ask = () =>
    starting.onceThere(async () => {
      if (!machine.runs) throw missing;
      if (!machine.signedIn) throw signedOut;
      return "answered";
    }, signal);
  return { clock, machine, starting, ask };
}

describe("a request without an IDE", () => {
  it("is answered by one that starts within five seconds", async () => {
    const { clock, machine, ask } = setUp();
    const answer = ask();
    await clock.advance(4_000);
    machine.runs = true;
    await clock.advance(1_000);
    expect(await answer).toBe("answered");
  });

  it("is refused after five seconds, and those of the next half minute at once", async () => {
    const { clock, machine, ask } = setUp();
    const refused = ask().catch((error: unknown) => error);
    await clock.advance(6_000);
    expect(await refused).toBe(missing);
    const { looks } = machine;
    await clock.advance(20_000);
    await expect(ask()).rejects.toBe(missing);
    expect([machine.looks, clock.sleeping]).toEqual([looks, 0]);
    await clock.advance(15_000);
    const later = ask();
    machine.runs = true;
    await clock.advance(1_000);
    expect(await later).toBe("answered");
  });

  it("is told how things are at the end of the search, not how they were before it", async () => {
    const { clock, machine, ask } = setUp();
    Object.assign(machine, { runs: true, signedIn: false });
    const refused = ask().catch((error: unknown) => error);
    await clock.advance(4_000);
    machine.runs = false;
    await clock.advance(2_000);
    expect(await refused).toBe(missing);
  });

  it("shares its search with all the others", async () => {
    const { clock, machine, ask } = setUp();
    const asked = Promise.allSettled(Array.from({ length: 500 }, ask));
    await clock.advance(6_000);
    expect((await asked).every(({ status }) => status === "rejected")).toBe(true);
    expect(machine.looks).toBeLessThan(15);
  });

  it("waits for an IDE that started a moment ago and has not read its account yet", async () => {
    const { clock, machine, ask } = setUp();
    Object.assign(machine, { runs: true, signedIn: false });
    const answer = ask();
    await clock.advance(2_000);
    machine.signedIn = true;
    await clock.advance(1_000);
    expect(await answer).toBe("answered");
  });

  it("learns after five seconds that an IDE that just started has no account signed in", async () => {
    const { clock, machine, ask } = setUp();
    Object.assign(machine, { runs: true, signedIn: false });
    const refused = ask().catch((error: unknown) => error);
    await clock.advance(6_000);
    expect(await refused).toBe(signedOut);
  });

  it("learns at once that an IDE that has run for a while has no account signed in", async () => {
    const { clock, machine, ask } = setUp();
    Object.assign(machine, { runs: true, signedIn: false, startedAtMs: clock.now() - 60_000 });
    await expect(ask()).rejects.toBe(signedOut);
    expect(clock.sleeping).toBe(0);
  });

  it("waits for nothing where something else failed", async () => {
    const { machine, starting } = setUp();
    const broke = new MillraceError("upstream_failed", "It broke.");
    await expect(starting.onceThere(() => Promise.reject(broke), signal)).rejects.toBe(broke);
    expect(machine.looks).toBe(0);
  });
});
