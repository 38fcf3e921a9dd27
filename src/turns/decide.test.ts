import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { MillraceError } from "../base/errors.ts";
import type { CascadeId, ModelUid } from "../base/ids.ts";
import { isTerminal, type TurnEventBody } from "../log/event.ts";
import { decide, isOver, stateAfter, stopFor, type TurnInput, type TurnState, transitions } from "./decide.ts";

const started: TurnEventBody = {
  type: "started",
  modelUid: "m" as ModelUid, // any text will do here
  backend: "cascade",
  cascadeId: "c" as CascadeId, // as above
};
const inputs: readonly TurnInput[] = [
  { type: "event", body: started },
  { type: "event", body: { type: "text", delta: "a" } },
  { type: "event", body: { type: "thinking", delta: "a" } },
  { type: "event", body: { type: "rewritten", text: "a" } },
  { type: "event", body: { type: "tool_call", callId: "1", name: "n", argumentsDelta: "{}", done: true } },
  { type: "event", body: { type: "usage", promptTokens: 1, completionTokens: 1, thinkingTokens: 0, estimated: false } },
  { type: "event", body: { type: "finished", reason: { unified: "stop", raw: undefined }, text: "a" } },
  { type: "event", body: { type: "failed", error: new MillraceError("upstream_failed", "x").toRecord() } },
  { type: "event", body: { type: "cancelled", by: "ide" } },
  { type: "upstream_ended" },
  { type: "upstream_threw", error: new MillraceError("internal", "x") },
  { type: "cancel", by: "client" },
  { type: "detach" },
  { type: "fenced" },
];
const states = Object.keys(transitions) as TurnState[]; // the keys are the states

/** Every step of a history, from a new turn. */
function play(history: readonly TurnInput[]): { readonly state: TurnState; readonly log: readonly TurnEventBody[] } {
  let state: TurnState = "created";
  const log: TurnEventBody[] = [];
  for (const input of history) {
    const decision = decide(state, input);
    state = decision.state;
    log.push(...decision.appends);
  }
  return { state, log };
}

const anyHistory = fc.array(fc.constantFrom(...inputs), { maxLength: 30 });

describe("the turn machine, for any inputs in any order", () => {
  test("I0: a log has at most one terminal event, and nothing follows it", () => {
    fc.assert(
      fc.property(anyHistory, (history) => {
        const { log } = play(history);
        const at = log.findIndex(isTerminal);
        expect(at === -1 || at === log.length - 1).toBe(true);
      }),
    );
  });

  test("I1: an answer comes only after `started`, of which there is at most one, first", () => {
    fc.assert(
      fc.property(anyHistory, (history) => {
        const types = play(history).log.map(({ type }) => type);
        expect(types.lastIndexOf("started")).toBeLessThan(1);
        const answered = types.some((type) => type === "text" || type === "finished");
        expect(!answered || types[0] === "started").toBe(true);
      }),
    );
  });

  test("I2: the state is what the log says: reading it back leads to the same place", () => {
    fc.assert(
      fc.property(anyHistory, (history) => {
        const { state, log } = play(history);
        expect(state === "handed_over" || stateAfter(log) === state).toBe(true);
      }),
    );
  });

  test("I3: it is over exactly when its log ends or another writer has it", () => {
    fc.assert(
      fc.property(anyHistory, (history) => {
        const { state, log } = play(history);
        expect(isOver(state)).toBe(log.some(isTerminal) || state === "handed_over");
      }),
    );
  });

  test("I4: handing over appends nothing and leaves the upstream unchanged", () => {
    for (const state of states.filter((each) => !isOver(each))) {
      for (const type of ["detach", "fenced"] as const) {
        expect(decide(state, { type })).toEqual({ state: "handed_over", appends: [] });
      }
    }
    expect(stopFor("handed_over", false)).toBe("detach");
  });

  test("I5: an upstream that did not end by itself is stopped, however the turn ended", () => {
    for (const state of ["finished", "failed", "cancelled"] as const) {
      expect(stopFor(state, false)).toBe("cancel");
      expect(stopFor(state, true)).toBeUndefined();
    }
    for (const state of ["created", "prompted", "streaming"] as const) expect(stopFor(state, false)).toBeUndefined();
  });
});

test("a step that breaks a backend's contract fails the turn as a bug", () => {
  for (const state of states) {
    for (const input of inputs) {
      const decision = decide(state, input);
      const codes = decision.appends.map((body) => (body.type === "failed" ? body.error.code : body.type));
      const broken = input.type === "event" && brokenIn(state).includes(input.body.type);
      expect(codes.includes("internal")).toBe(broken || (input.type === "upstream_threw" && !isOver(state)));
    }
  }
});

function brokenIn(state: TurnState): readonly string[] {
  if (state === "created") return ["text", "thinking", "rewritten", "tool_call", "usage", "finished"];
  return state === "prompted" || state === "streaming" ? ["started"] : [];
}
