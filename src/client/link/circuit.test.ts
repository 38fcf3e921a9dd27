import { describe, expect, test } from "vitest";
import { FakeClock } from "../../base/clock.fake.ts";
import { idle } from "../../base/wait.fake.ts";
import { Circuit } from "./circuit.ts";

const never = new AbortController().signal;
const policy = { threshold: 3, coolDownMs: 1000 };

function brokenCircuit() {
  const clock = new FakeClock();
  const circuit = new Circuit(policy, clock, () => 0.5);
  for (let i = 0; i < policy.threshold; i++) circuit.report(false);
  return { clock, circuit };
}

/** The state of a promise once nothing else is left to run. */
async function settled<T>(promise: Promise<T>): Promise<T | "waits"> {
  await idle();
  return Promise.race([promise, Promise.resolve("waits" as const)]);
}

describe("the circuit to a gateway", () => {
  test("lets all streams through until some attaches in a row found no gateway", async () => {
    const circuit = new Circuit(policy, new FakeClock(), () => 0.5);
    circuit.report(false);
    circuit.report(false);
    expect(await circuit.enter(never)).toBe("go");
    circuit.report(true);
    circuit.report(false);
    circuit.report(false);
    expect(circuit.isOpen).toBe(false);
  });

  test("lets one stream of a thousand try an unreachable gateway now and then", async () => {
    const { clock, circuit } = brokenCircuit();
    const waiting = Array.from({ length: 1000 }, () => circuit.enter(never));
    await clock.advance(999);
    const found: string[] = [];
    for (const entered of waiting) void entered.then((what) => found.push(what));
    await clock.advance(0);
    expect(found).toEqual([]);
    await clock.advance(1);
    expect(found).toEqual(["go"]);
    circuit.report(false);
    await clock.advance(0);
    expect(found).toHaveLength(1000);
    expect(found.filter((what) => what === "go")).toHaveLength(1);
  });

  test("lets all streams through once a trial found a gateway", async () => {
    const { clock, circuit } = brokenCircuit();
    const [trial, other] = [circuit.enter(never), circuit.enter(never)];
    await clock.advance(1000);
    expect(await trial).toBe("go");
    circuit.report(true);
    expect(await other).toBe("go");
    expect(circuit.isOpen).toBe(false);
  });

  test("passes the trial on when the one who had it leaves", async () => {
    const { clock, circuit } = brokenCircuit();
    const leaving = new AbortController();
    const trial = circuit.enter(leaving.signal);
    leaving.abort(new Error("left"));
    await expect(trial).rejects.toThrow("left");
    const next = circuit.enter(never);
    await clock.advance(1000);
    expect(await settled(next)).toBe("go");
    circuit.leave();
    const third = circuit.enter(never);
    await clock.advance(1000);
    expect(await settled(third)).toBe("go");
  });
});
