import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isAfter, newRecord, type StreamRecord, startMark } from "../records/record.ts";
import { decide } from "./decide.ts";
import { begin, type Effect, type Input, type StreamState, type Welcome } from "./stream-state.ts";

const ids = { streamKey: "s", encryptionKey: "k" };
const nothingSaid: Welcome = {
  degraded: false,
  epoch: undefined,
  tailEventId: undefined,
  highestSeqno: undefined,
  chainHead: undefined,
  ticket: undefined,
};

/** The log: event n (from 1) has id `en`; those in `calls` are tool calls, the last is the end. */
interface Log {
  readonly length: number;
  readonly calls: ReadonlySet<number>;
}

const idOf = (n: number) => `e${String(n).padStart(3, "0")}`;
const numberOf = (eventId: string) => (eventId === startMark.eventId ? 0 : Number(eventId.slice(1)));
const chainOf = (n: number) => (n === 0 ? "" : `chain-${n}`);

function eventOf(log: Log, n: number): Input {
  const event = log.calls.has(n)
    ? ({ kind: "tool_call", callId: `call-${n}` } as const)
    : n === log.length
      ? ({ kind: "end", countBefore: n - 1, chainBefore: chainOf(n - 1) } as const)
      : ({ kind: "content" } as const);
  return { type: "event", eventId: idOf(n), chain: chainOf(n), event };
}

/** An event in a client's life. The test draws the events and their order. */
type Happening =
  | "attach"
  | "deliver"
  | "come_back"
  | "start_tool"
  | "finish_tool"
  | "acknowledge"
  | "cut"
  | "crash"
  | "save_note";

function must(holds: boolean, what: string): void {
  if (!holds) throw new Error(`it does not hold: ${what}`);
}

/** A client, its disk, its server and its application, moved by hand. Checks what must always hold after each step. */
class World {
  readonly log: Log;
  #state: StreamState;
  #disk: StreamRecord;
  #noted = false;
  /** The payload that the server accepted under each number. */
  readonly accepted = new Map<number, string>();
  #life = 0;
  #epoch = 0;
  /** Next event of this connection. */
  #next = 1;
  readonly surfaced: string[][] = [[]];
  readonly started = new Map<string, number>();
  readonly ran: string[] = [];
  #open: string | undefined;

  constructor(log: Log) {
    this.log = log;
    this.#disk = newRecord(ids, 0, "");
    this.#state = begin(this.#disk);
    this.input({ type: "given", kind: "request", payload: "request" });
  }

  get ended(): boolean {
    return this.#state.phase === "ended";
  }

  input(input: Input): void {
    const before = this.#state;
    const { state, effects } = decide(before, input);
    this.#state = state;
    for (const effect of effects) this.#perform(effect, input);
    this.#check(before, input, effects);
  }

  happen(what: Happening): void {
    if (this.ended) return;
    const { phase, pending, record } = this.#state;
    const open = record.calls.filter(({ state }) => state !== "finished");
    switch (what) {
      case "attach":
        if (phase === "attached" || pending !== undefined) return;
        this.input({ type: "attach" });
        this.#next = numberOf(this.#state.received.eventId) + 1;
        this.input({
          ...nothingSaid,
          type: "welcome",
          epoch: ++this.#epoch,
          tailEventId: idOf(this.log.length),
          chainHead: chainOf(this.#next - 1),
          ...(this.accepted.size === 0 ? {} : { highestSeqno: this.accepted.size - 1 }),
        });
        return;
      case "deliver":
        // The application is handed one event after the other.
        if (phase === "attached" && pending === undefined && this.#next <= this.log.length && this.#mayGoOn())
          this.input(eventOf(this.log, this.#next++));
        return;
      case "come_back":
        return this.input({ type: "applied" });
      case "start_tool":
        this.#open = open.find(({ state }) => state === "handed")?.callId;
        if (this.#open === undefined) return;
        this.input({ type: "started", callId: this.#open });
        this.ran.push(this.#open);
        return;
      case "finish_tool": {
        const call = open.find(({ state }) => state === "started");
        if (call !== undefined)
          this.input({ type: "given", kind: "tool_result", payload: `result of ${call.callId}`, callId: call.callId });
        return;
      }
      case "acknowledge": {
        const [first] = record.unacked;
        if (phase === "attached" && first !== undefined && this.accepted.has(first.seqno))
          this.input({ type: "acknowledged", seqno: first.seqno });
        return;
      }
      case "cut":
        if (phase === "attached" && pending === undefined) this.input({ type: "lost" });
        return;
      case "crash":
        this.#life++;
        this.surfaced.push([]);
        this.#state = begin(JSON.parse(JSON.stringify(this.#disk)) as StreamRecord);
        return;
      case "save_note":
        if (this.#noted) this.#disk = record;
        return;
      default:
        what satisfies never;
    }
  }

  /** The server ends only after every call has its result. */
  #mayGoOn(): boolean {
    if (this.#next < this.log.length) return true;
    const results = [...this.accepted.values()].filter((payload) => payload.startsWith("result"));
    return results.length === this.log.calls.size;
  }

  #perform(effect: Effect, input: Input): void {
    if (effect.type === "store") this.#disk = this.#state.record;
    if (effect.type === "note") this.#noted = true;
    if (effect.type === "send") {
      const { seqno, payload } = effect.message;
      const before = this.accepted.get(seqno);
      must(before === undefined || before === payload, "H2: one number, one message, for ever");
      must(this.#disk.nextSeqno > seqno, "H2: a number is stored before it is sent");
      must(seqno <= this.accepted.size, "H5: no gap in the numbers");
      this.accepted.set(seqno, payload);
    }
    if (effect.type === "surface" && input.type === "event") {
      this.surfaced[this.#life]?.push(input.eventId);
      if (effect.call === "new" && input.event.kind === "tool_call")
        must(!this.ran.includes(input.event.callId), "H8: what was started is never handed out as new");
    }
    must(effect.type !== "diverged", "the same log is never taken for another");
  }

  #check(before: StreamState, input: Input, effects: readonly Effect[]): void {
    const { record, fruitless } = this.#state;
    const { eventId: cursor, chain, count } = record.cursor;
    for (const { eventId, state } of record.calls)
      must(state === "finished" || isAfter(eventId, cursor), "I5: the cursor waits for open calls");
    must(!isAfter(cursor, record.applied.eventId), "the cursor is no further than what was applied");
    must(!isAfter(before.record.cursor.eventId, cursor), "the cursor never goes back");
    must(chain === chainOf(count) && count === numberOf(cursor), "the cursor knows the chain where it is");
    const life = this.surfaced[this.#life] ?? [];
    must(life.join() === [...new Set(life)].sort().join(), "I3: in one life every event comes once, in order");
    const isNew = effects.some(({ type }) => type === "surface") || input.type === "acknowledged";
    must(fruitless >= before.fruitless || isNew, "P12: only something new brings the budget back");
  }
}

const happenings: readonly Happening[] = [
  "attach",
  "attach",
  "deliver",
  "deliver",
  "deliver",
  "come_back",
  "come_back",
  "come_back",
  "start_tool",
  "finish_tool",
  "acknowledge",
  "cut",
  "crash",
  "save_note",
];

describe("the algorithm of a stream", () => {
  test("keeps its promises for any events in any order, and ends once it can", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 2, max: 9 }),
        fc.uniqueArray(fc.integer({ min: 1, max: 8 }), { maxLength: 3 }),
        fc.array(fc.constantFrom(...happenings), { maxLength: 120, size: "max" }),
        (length, callsAt, drawn) => {
          const world = new World({ length, calls: new Set(callsAt.filter((n) => n < length)) });
          for (const what of drawn) world.happen(what);
          for (let i = 0; i < 40 && !world.ended; i++)
            for (const what of ["attach", "deliver", "start_tool", "finish_tool", "acknowledge", "come_back"] as const)
              world.happen(what);
          expect(world.ended).toBe(true);
          expect([...new Set(world.surfaced.flat())].sort()).toEqual(Array.from({ length }, (_, i) => idOf(i + 1)));
          // G13: at most one run of each tool, whoever died when.
          expect(new Set(world.ran).size).toBe(world.ran.length);
        },
      ),
      { numRuns: 300 },
    );
  });

  test.each([
    ["accepted more than this record gave out", { highestSeqno: 1 }],
    ["has a log that ends before what was read", { tailEventId: "0" }],
    ["counts no more attaches than before", { epoch: 3 }],
    ["has another chain at the cursor", { chainHead: "another" }],
  ])("sends nothing to a server that %s", (_name, said) => {
    const read = { eventId: "e001", chain: "chain-1", count: 1 };
    const record = { ...newRecord(ids, 0, ""), created: true, nextSeqno: 1, epoch: 3, cursor: read, applied: read };
    const unacked = [{ seqno: 0, kind: "request", payload: "p" }] as const;
    const attaching = decide(begin({ ...record, unacked }), { type: "attach" }).state;
    const { state, effects } = decide(attaching, { ...nothingSaid, type: "welcome", ...said });
    expect(effects).toMatchObject([{ type: "diverged" }]);
    expect(state.phase).toBe("ended");
  });

  test("continues with an original server, which says nothing of the stream", () => {
    const attaching = decide(begin(newRecord(ids, 0, "")), { type: "attach" }).state;
    const { state } = decide(attaching, { ...nothingSaid, type: "welcome" });
    expect(state.phase).toBe("attached");
  });

  test("orders ids as text, and plain numbers, as original servers have them, as numbers", () => {
    expect(isAfter("10", "9")).toBe(true);
    expect(isAfter("a2.a1", "a1.c100.a1")).toBe(true);
    expect(isAfter("a1.a3.a1", "a1.a3")).toBe(true);
    expect(isAfter("a1.a1", "0")).toBe(true);
    expect(isAfter("b10", "a9")).toBe(true);
    expect(isAfter("17", "17")).toBe(false);
  });
});

test("an acknowledgement is news as an event is: attaches after it are counted anew", () => {
  const { state: given } = decide(begin(newRecord(ids, 0, "")), { type: "given", kind: "request", payload: "aGk" });
  const lost = { ...given, fruitless: 3 };
  expect(decide(lost, { type: "acknowledged", seqno: 0 }).state).toMatchObject({
    fruitless: 0,
    record: { unacked: [] },
  });
  expect(decide(lost, { type: "acknowledged", seqno: 7 })).toEqual({ state: lost, effects: [] });
});
