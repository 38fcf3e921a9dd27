import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { proves } from "../../../test/support/proves.ts";
import type { TurnEventBody } from "../../log/event.ts";
import { recordedRequest } from "../recorded.fake.ts";
import { AnswerFold, type AnswerStep } from "./answer.ts";
import { legalLog } from "./legal-logs.fake.ts";

function steps(log: readonly TurnEventBody[]): { steps: AnswerStep[]; fold: AnswerFold } {
  const fold = new AnswerFold(recordedRequest);
  return { steps: log.flatMap((event) => fold.push(event)), fold };
}

const text = (delta: string): TurnEventBody => ({ type: "text", delta });
const call = (callId: string, argumentsDelta: string, done = false): TurnEventBody => ({
  type: "tool_call",
  callId,
  name: "weather",
  argumentsDelta,
  done,
});
const finished = (whole: string): TurnEventBody => ({
  type: "finished",
  reason: { unified: "stop", raw: undefined },
  text: whole,
});

/** Finds errors in the order of steps; none if the order is right. */
function problemsOf(all: readonly AnswerStep[]): string[] {
  const problems: string[] = [];
  let open: number | undefined;
  let next = 0;
  for (const [i, step] of all.entries()) {
    if (step.type === "end") {
      if (i !== all.length - 1) problems.push("a step after the end");
    } else if (step.type === "open") {
      if (open !== undefined) problems.push(`${step.block.index} opened inside ${open}`);
      if (step.block.index !== next) problems.push(`${step.block.index} instead of ${next}`);
      next++;
      open = step.block.index;
    } else {
      if (step.block.index !== open) problems.push(`${step.type} of ${step.block.index} in ${open}`);
      if (step.type === "close") open = undefined;
    }
  }
  if (all.at(-1)?.type !== "end" || open !== undefined) problems.push("no proper end");
  return problems;
}

describe("AnswerFold", () => {
  it("gives for any legal log blocks that never overlap, and one end, last", () => {
    fc.assert(
      fc.property(legalLog, (log) => {
        expect(problemsOf(steps(log).steps)).toEqual([]);
      }),
    );
  });

  it("holds the upstream's own final text for any legal log that finished", () => {
    fc.assert(
      fc.property(legalLog, (log) => {
        const last = log.at(-1);
        const { fold } = steps(log);
        expect(fold.text).toBe(last?.type === "finished" ? last.text : fold.text);
      }),
    );
  });

  it("gives a client that honours rewrites the same text as one that waits for the whole", () => {
    fc.assert(
      fc.property(legalLog, (log) => {
        let seen = "";
        const { steps: all, fold } = steps(log);
        for (const step of all) {
          if (step.type === "rewritten") seen = step.text;
          else if (step.type === "delta" && step.block.kind === "text") seen += step.delta;
        }
        expect(seen).toBe(fold.text);
      }),
    );
  });

  it("has every call's arguments whole", () => {
    fc.assert(
      fc.property(legalLog, (log) => {
        const expected = new Map<string, string>();
        for (const e of log) {
          if (e.type === "tool_call") expected.set(e.callId, e.argumentsDelta);
        }
        const calls = steps(log).fold.answer.blocks.filter((block) => block.kind === "tool_call");
        expect(calls.map((block) => block.callId).sort()).toEqual([...expected.keys()].sort());
        for (const block of calls) {
          const args = expected.get(block.callId) ?? "";
          expect(block.arguments).toBe(args.trim() === "" && !block.freeform ? "{}" : args);
        }
      }),
    );
  });

  it("says tool_calls if and only if there are calls", () => {
    proves("chat.tool-finish");
    const reasonOf = (log: readonly TurnEventBody[]) => steps(log).fold.answer.end;
    expect(reasonOf([call("a", "{}", true), finished("")])).toMatchObject({ reason: { unified: "tool_calls" } });
    const claimed: TurnEventBody = { type: "finished", reason: { unified: "tool_calls", raw: "x" }, text: "" };
    expect(reasonOf([claimed])).toMatchObject({ reason: { unified: "stop", raw: "x" } });
  });

  it("sends the lost end of a text when the terminal event knows more than the deltas", () => {
    const { steps: all, fold } = steps([text("Hel"), finished("Hello")]);
    expect(all).toContainEqual({ type: "delta", block: fold.answer.blocks[0], delta: "lo" });
  });

  it("ignores everything after the end", () => {
    expect(steps([finished(""), text("more")]).steps).toHaveLength(1);
  });
});
