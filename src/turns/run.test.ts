import { describe, expect, test } from "vitest";
import type { Backend, Batch, Prompt } from "../backends/backend.ts";
import { FakeClock } from "../base/clock.fake.ts";
import { MillraceError } from "../base/errors.ts";
import type { ModelUid, TurnId } from "../base/ids.ts";
import { idle, until } from "../base/wait.fake.ts";
import type { TurnEventBody } from "../log/event.ts";
import type { AppendOutcome, LogWriter } from "../log/store.ts";
import { exchange } from "./exchange.ts";
import { Runner } from "./run.ts";

type Bodies = readonly TurnEventBody[];

/** A runner, and all that happened in order: `open`, `told <why>` and `closed` of the backend, `stored <kinds>` of the log. */
class RunnerWorld {
  readonly clock = new FakeClock();
  readonly happened: string[] = [];
  readonly opening = Promise.withResolvers<AsyncIterable<Batch>>();
  readonly runner: Runner;
  /** Set: the next append is not stored, and gives or throws the result of this function. */
  refuse: (() => Promise<AppendOutcome>) | undefined;
  #signal: AbortSignal | undefined;
  readonly #queue: TurnEventBody[] = [];
  #ended = false;
  #wake = () => {};

  constructor() {
    const writer: LogWriter = {
      turnId: "turn-1" as TurnId, // any text will do
      epoch: 1,
      append: async (bodies: Bodies) => {
        if (this.refuse !== undefined) return this.refuse();
        this.happened.push(`stored ${bodies.map(({ type }) => type).join()}`);
        return "appended";
      },
    };
    const open = (signal: AbortSignal) => {
      this.#signal = signal;
      this.happened.push("open");
      signal.addEventListener("abort", () => {
        this.happened.push(`told ${String(signal.reason)}`);
        this.#wake();
      });
      return this.opening.promise;
    };
    const exchanging = async (signal: AbortSignal) => {
      const batches = await open(signal);
      const backend = { kind: "cascade", run: () => batches } as unknown as Backend; // nothing else of it is used
      return exchange({ backend, prompt: {} as Prompt, run: { keep: false, onAlive: () => {} } });
    };
    this.runner = new Runner({
      writer,
      state: "created",
      open: exchanging,
      enter: async () => () => {},
      stages: [],
      clock: this.clock,
    });
  }

  opens(): void {
    this.opening.resolve(this.#events());
  }

  emit(body: TurnEventBody): void {
    this.#queue.push(body);
    this.#wake();
  }

  /** The backend has no more to say. */
  ends(): void {
    this.#ended = true;
    this.#wake();
  }

  async *#events(): AsyncGenerator<Batch, void> {
    try {
      while (this.#signal?.aborted !== true) {
        const next = this.#queue.shift();
        if (next !== undefined) yield [next];
        else if (this.#ended) return;
        else await new Promise<void>((resolve) => (this.#wake = resolve));
      }
    } finally {
      this.happened.push("closed");
    }
  }
}

const started: TurnEventBody = { type: "started", modelUid: "m" as ModelUid, backend: "cascade", cascadeId: undefined };
const text: TurnEventBody = { type: "text", delta: "a" };

async function streaming(): Promise<{ readonly world: RunnerWorld; readonly run: Promise<string> }> {
  const world = new RunnerWorld();
  const run = world.runner.run();
  run.catch(() => undefined); // a test that expects a failure awaits it itself
  world.opens();
  world.emit(started);
  await until(() => world.happened.includes("stored started"));
  world.happened.length = 0;
  return { world, run };
}

describe("a runner that is stopped before its backend was found", () => {
  test("hands the turn over without looking for one, also if it is stopped after that", async () => {
    const world = new RunnerWorld();
    world.runner.stop({ type: "detach" });
    world.runner.stop({ type: "cancel", by: "client" });
    expect(await world.runner.run()).toBe("handed_over");
    expect(world.happened).toEqual(["stored "]);
  });

  test("by a stop of the gateway, looks for none either", async () => {
    const world = new RunnerWorld();
    world.runner.stop({ type: "cancel", by: "shutdown" });
    expect(await world.runner.run()).toBe("cancelled");
    expect(world.happened).toEqual(["stored cancelled"]);
  });

  test("by its client, has one that comes within a second told before the end is stored", async () => {
    const world = new RunnerWorld();
    const run = world.runner.run();
    world.runner.stop({ type: "cancel", by: "client" });
    await world.clock.advance(900);
    expect(world.happened).toEqual(["open"]);
    world.opens();
    expect(await run).toBe("cancelled");
    expect(world.happened).toEqual(["open", "told cancel", "closed", "stored cancelled"]);
  });

  test("by its client, ends in the log after a second, and closes a backend that comes later", async () => {
    const world = new RunnerWorld();
    const run = world.runner.run();
    world.runner.stop({ type: "cancel", by: "client" });
    await world.clock.advance(1_000);
    await world.runner.over;
    expect(world.happened).toEqual(["open", "stored cancelled", "told cancel"]);
    world.opens();
    expect(await run).toBe("cancelled");
    expect(world.happened.at(-1)).toBe("closed");
  });

  test("and then finds none, has still ended", async () => {
    const world = new RunnerWorld();
    const run = world.runner.run();
    world.runner.stop({ type: "cancel", by: "client" });
    await world.clock.advance(1_000);
    world.opening.reject(new MillraceError("ide_not_running", "none"));
    expect(await run).toBe("cancelled");
  });
});

describe("a runner in the middle of an answer", () => {
  test("by a hand-over, tells its backend before that goes on past an end that was not stored", async () => {
    const { world, run } = await streaming();
    world.runner.stop({ type: "detach" });
    world.emit({ type: "finished", reason: { unified: "stop", raw: undefined }, text: "" });
    expect(await run).toBe("handed_over");
    expect(world.happened[0]).toBe("told detach");
  });

  test("obeys the first of two stops", async () => {
    const { world, run } = await streaming();
    world.runner.stop({ type: "detach" });
    world.runner.stop({ type: "cancel", by: "client" });
    expect(await run).toBe("handed_over");
    expect(world.happened).toEqual(["stored ", "told detach", "closed"]);
  });

  test("has its backend told before a cancel is stored", async () => {
    const { world, run } = await streaming();
    world.runner.stop({ type: "cancel", by: "client" });
    expect(await run).toBe("cancelled");
    expect(world.happened).toEqual(["told cancel", "closed", "stored cancelled"]);
  });

  test("stops its backend when the log fails and does not recover, and reports the failure", async () => {
    const { world, run } = await streaming();
    world.refuse = () => Promise.reject(new MillraceError("internal", "the log is damaged"));
    world.emit(text);
    await expect(run).rejects.toMatchObject({ code: "internal" });
    await world.runner.over;
    expect(world.happened).toEqual(["told cancel", "closed"]);
  });

  test.each([
    ["fenced", "detach", "handed_over"],
    ["ended", "detach", "handed_over"],
    ["removed", "cancel", "handed_over"],
  ] as const)("whose turn is %s leaves its backend by: %s", async (appended, told, state) => {
    const { world, run } = await streaming();
    world.refuse = async () => appended;
    world.emit(text);
    expect(await run).toBe(state);
    expect(world.happened).toEqual([`told ${told}`, "closed"]);
  });

  test("lets a backend that ended by itself clean up, and sends it nothing", async () => {
    const { world, run } = await streaming();
    world.emit({ type: "finished", reason: { unified: "stop", raw: undefined }, text: "" });
    await world.runner.over;
    expect(world.happened).toEqual(["stored finished"]);
    world.emit(text); // what it says on its way out is dropped
    await idle();
    world.ends();
    expect(await run).toBe("finished");
    expect(world.happened).toEqual(["stored finished", "closed"]);
  });
});
