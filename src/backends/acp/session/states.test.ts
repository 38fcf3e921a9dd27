import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  given,
  newState,
  nextStep,
  noteOf,
  type Place,
  places,
  type SessionEffect,
  type SessionInput,
  type SessionState,
  step,
} from "./states.ts";

const inputs = Object.keys(places) as SessionInput["type"][]; // the keys are the inputs
const answer = (callId: string) => ({ type: "answer", callId, content: [], isError: false }) as const;

/** Throws where an invariant does not hold. */
function hold(invariant: string, holds: boolean): void {
  if (!holds) throw new Error(invariant);
}

/** What happened in the world of a session: an agent, its relay, turns, a client, and gateways that are killed. */
class World {
  state: SessionState;
  /** What the host has for the next gateway; undefined before the session is open. */
  note: ReturnType<typeof noteOf> | undefined;
  isNotedIdle = false;
  hasTurn = false;
  /** The calls that the agent waits for, in its relay. */
  readonly waiting = new Set<string>();
  /** How often the client got each call in a turn whose end it may know. */
  readonly got = new Map<string, number>();
  made = 0;
  requests = 0;

  constructor(hasTools: boolean) {
    this.state = newState(hasTools);
  }

  /** One thing that happens; `n` chooses among the calls. */
  play(type: SessionInput["type"] | "crash", n: number): void {
    if (type === "crash") this.#crash();
    else this.#step(this.#inputOf(type, n));
    this.#check();
  }

  #inputOf(type: SessionInput["type"], n: number): SessionInput {
    const waiting = [...this.waiting];
    const some = waiting.filter((_, index) => (n >> index) % 2 === 1);
    switch (type) {
      case "adopted":
        return { type, request: { id: 1, from: n }, given: some };
      case "taken":
        return { type, results: some, at: n };
      case "prompted":
        return { type, request: { id: ++this.requests, from: n } };
      case "update":
        return { type, line: n };
      case "call": {
        const callId = `call ${++this.made}`;
        this.waiting.add(callId);
        return { type, call: { callId, name: "step", arguments: {} }, problem: n === 0 ? "No." : undefined };
      }
      case "call_dropped": {
        const callId = waiting[n % Math.max(1, waiting.length)] ?? "none";
        this.waiting.delete(callId);
        return { type, callId };
      }
      case "given":
        return { type, callIds: some, at: n };
      case "results":
        return { type, answers: some.map(answer) };
      case "superseded":
        return { type, callIds: some };
      case "relay_back":
        return { type, callIds: waiting };
      case "lines_lost":
        return { type, why: "too_many" };
      case "opened":
      case "resumed":
      case "accepted":
      case "ended":
      case "released":
      case "detached":
      case "discarded":
      case "expired":
      case "memory":
      case "agent_died":
      case "relay_lost":
      case "closed":
        return { type };
      default:
        return type satisfies never;
    }
  }

  #step(input: SessionInput): void {
    const before = this.state;
    const { state, effects } = step(before, input);
    const has = (type: SessionEffect["type"]) => effects.some((effect) => effect.type === type);
    const isRefused = has("refuse");
    if (isRefused) {
      hold("a refused input changes nothing", effects.length === 1 && state === before);
      return;
    }
    this.state = state;
    if (input.type === "taken" || input.type === "resumed") {
      hold("one turn has a session", !this.hasTurn);
      this.hasTurn = true;
    }
    if ((has("delete") || has("close")) && this.hasTurn)
      hold("what is in use is not deleted", input.type === "discarded");
    if (state.place !== "running") this.hasTurn = false;
    if (input.type === "given" || input.type === "taken")
      for (const { callId, at } of state.calls)
        if (at === "given" && before.calls.some((each) => each.callId === callId && each.at === "fresh"))
          this.got.set(callId, (this.got.get(callId) ?? 0) + 1);
    for (const effect of effects) {
      if (effect.type !== "tell") continue;
      hold("an answer is told to an agent that waits, once", this.waiting.has(effect.answer.callId));
      this.waiting.delete(effect.answer.callId);
    }
    if (has("read")) hold("only a prompt's messages are read", before.request !== undefined);
    if (has("forget")) this.note = undefined;
    else if (has("note")) {
      this.note = noteOf(state);
      this.isNotedIdle = state.place === "idle" || state.place === "ending"; // as `Session.note` says
    }
    hold("the next gateway knows what is stored", this.note === undefined || same(this.note, noteOf(state)));
  }

  /** The gateway is killed, and the next one has the note; the relay comes back to it. */
  #crash(): void {
    const { note, state } = this;
    if (note === undefined) return; // the session is not open, or is gone
    for (const { callId, isStored } of state.calls) if (!isStored) this.got.delete(callId); // the end of that turn is not stored
    this.hasTurn = false;
    this.state = newState(state.relay !== "none");
    if (this.isNotedIdle) {
      this.#step({ type: "opened" });
      this.#step({ type: "expired" }); // only the gateway that is gone knew what it holds
      return;
    }
    this.#step({ type: "adopted", ...note });
    this.#step({ type: "relay_back", callIds: [...this.waiting] });
    const stored = note.given.filter((callId) => this.waiting.has(callId));
    hold("a crash forgets no call that is stored", same([...given(this.state)].sort(), [...stored].sort()));
    for (const callId of this.waiting) {
      if (this.state.calls.some((each) => each.callId === callId)) continue;
      this.#step({ type: "call", call: { callId, name: "step", arguments: {} } });
    }
  }

  #check(): void {
    const { place, prompt, calls } = this.state;
    const works = prompt === "works";
    hold("a turn has what runs, and nothing else", this.hasTurn === (place === "running"));
    if (works) hold("a prompt that waits is in one state", ["running", "parked", "left", "ending"].includes(place));
    if (place === "parked") hold("what is parked waits", works);
    if (works && nextStep({ hasTools: true, results: [] }, this.state) === "prompt")
      hold("no second prompt beside one that works", this.state.relay === "none");
    hold("a call is given once", Math.max(0, ...this.got.values()) <= 1);
    if (place === "gone") hold("what is gone has no calls", calls.length === 0);
  }
}

const same = (a: object, b: object) => JSON.stringify(a) === JSON.stringify(b);

describe("the session machine", () => {
  test("keeps its invariants whatever happens, with gateways that are killed at any moment", () => {
    const happening = fc.tuple(fc.constantFrom(...inputs, "crash" as const), fc.nat(7));
    // most sequences of arbitrary inputs end soon, so half of them begin with a turn that prompts
    const begun = [
      ["opened", 0],
      ["taken", 0],
      ["prompted", 0],
      ["relay_back", 0],
      ["call", 1],
      ["given", 1],
    ] as const;
    const lives = inputs.filter((type) => !["agent_died", "closed", "discarded", "expired", "memory"].includes(type));
    const longLife = fc.tuple(fc.constantFrom(...lives, "crash" as const), fc.nat(7));
    const sequence = fc.tuple(
      fc.constantFrom([], begun),
      fc.array(longLife, { maxLength: 30 }),
      fc.array(happening, { maxLength: 30 }),
    );
    const lived = fc.property(fc.boolean(), sequence, (hasTools, parts) => {
      const world = new World(hasTools);
      for (const [type, n] of parts.flat()) world.play(type, n);
    });
    expect(() => fc.assert(lived, { numRuns: 300 })).not.toThrow();
  });

  test("every place but the first is reached, and every input means something somewhere", () => {
    const reached = new Set(inputs.flatMap((type) => Object.values(places[type])));
    for (const place of ["idle", "running", "left", "ending", "gone", "rest"] as const)
      expect(reached).toContain(place);
    for (const type of inputs) expect(Object.values(places[type]).some((next) => next !== "refused")).toBe(true);
  });

  test("the table in the documentation is this one", () => {
    const page = readFileSync(join(import.meta.dirname, "../../../../docs/dev/session-machine.md"), "utf8");
    const rows = page.split("\n").filter((line) => line.startsWith("|`"));
    const columns = Object.keys(places.opened) as Place[]; // as above
    const header = `|input|${columns.join("|")}|`;
    const spelled = inputs.map((type) => {
      const cells = columns.map(
        (place) => ({ same: "", refused: "–" })[places[type][place] as string] ?? places[type][place],
      );
      return `|\`${type}\`|${cells.join("|")}|`;
    });
    expect([page.includes(header), rows]).toEqual([true, spelled]);
  });
});

const waits: SessionState = {
  ...newState(true),
  place: "parked",
  prompt: "works",
  relay: "here",
  calls: ["a", "b"].map(
    (callId) => ({ callId, at: "given", isStored: true, call: undefined, answer: undefined }) as const,
  ),
};
const [a, b] = waits.calls;
const lost: SessionState = { ...waits, calls: [a, b && { ...b, at: "lost" as const }].flatMap((call) => call ?? []) };
const free: SessionState = { ...waits, place: "idle", prompt: "ended", calls: [] };
const ended: SessionState = { ...waits, place: "idle", prompt: "ended" };
const anew = (why: string) => ({ anew: why });

test.each([
  ["exactly the results of the calls", ["a", "b"], waits, "results"],
  ["the same in another order", ["b", "a"], waits, "results"],
  ["something else beside them, or no results", undefined, waits, anew("no_results")],
  ["a result too few", ["a"], waits, anew("other_calls")],
  ["a result too many", ["a", "b", "c"], waits, anew("other_calls")],
  ["one result twice", ["a", "a"], waits, anew("other_calls")],
  ["the results of other calls", ["c", "d"], waits, anew("other_calls")],
  ["results for calls that the agent gave up", ["a", "b"], lost, anew("calls_given_up")],
  ["results for a prompt that has ended", ["a", "b"], ended, anew("prompt_ended")],
  ["results where no call waits", ["a"], { ...waits, calls: [] }, anew("nothing_waits")],
  ["a question in a session that is free", undefined, free, "prompt"],
  ["results whose relay is not back", ["a", "b"], { ...waits, relay: "away" }, anew("relay_away")],
] as const)("%s: %j", (_, results, state, next) => {
  expect(nextStep({ hasTools: true, results }, state)).toEqual(next);
});

test("a request without the client's tools is asked anew where the agent has them", () => {
  expect(nextStep({ hasTools: false, results: undefined }, free)).toEqual(anew("no_tools"));
});

test("what an agent waits for when its session goes is answered with an error, whether a client has it or not", () => {
  const call = (callId: string): SessionInput => ({ type: "call", call: { callId, name: "step", arguments: {} } });
  const inputs: readonly SessionInput[] = [
    { type: "opened" },
    { type: "taken" },
    { type: "prompted", request: { id: 1, from: 0 } },
    { type: "relay_back", callIds: [] },
    call("given"),
    { type: "given", callIds: ["given"], at: 0 },
    call("fresh"),
    { type: "agent_died" },
  ];
  let state = newState(true);
  let last: readonly SessionEffect[] = [];
  for (const input of inputs) ({ state, effects: last } = step(state, input));
  const told = last.flatMap((effect) => (effect.type === "tell" ? [effect.answer] : []));
  expect(told.map(({ callId, isError }) => [callId, isError])).toEqual([
    ["given", true],
    ["fresh", true],
  ]);
  expect(state.place).toBe("gone");
});
