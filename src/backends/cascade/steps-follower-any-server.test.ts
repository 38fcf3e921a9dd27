import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isTerminal } from "../../log/event.ts";
import { replay } from "../replay.fake.ts";
import { FakeTrajectory } from "../trajectory.fake.ts";
import { follow } from "./follow-steps.fake.ts";

describe("followSteps, with any server", () => {
  const piece = fc.string({ unit: fc.constantFrom("a", "b", " ", "é", "🙂"), minLength: 1, maxLength: 5 });
  const act = fc.oneof(
    fc.record({ do: fc.constant("write" as const), text: piece }),
    fc.record({ do: fc.constant("think" as const), text: piece }),
    fc.record({ do: fc.constant("rewrite" as const), text: piece }),
    fc.record({ do: fc.constant("insert" as const), at: fc.nat(4) }),
    fc.record({ do: fc.constant("plan" as const) }),
    fc.record({ do: fc.constant("poll" as const) }),
    fc.record({ do: fc.constant("compact" as const) }),
    fc.record({ do: fc.constant("reset" as const) }),
  );

  test("what was emitted plus the rewrites is the final text, thinking is never repeated, and one event is terminal", () => {
    fc.assert(
      fc.property(fc.array(act, { maxLength: 40 }), fc.boolean(), (acts, second) => {
        const trajectory = new FakeTrajectory();
        if (second) trajectory.earlierTurn();
        const fromStep = trajectory.steps.length;
        const follower = follow(trajectory, { fromStep, fresh: !second });
        trajectory.accept("hi");
        trajectory.plan();
        let rewrittenThinking = false;
        for (const action of acts) {
          if (action.do === "write") trajectory.write(action.text);
          if (action.do === "think") trajectory.think(action.text);
          if (action.do === "rewrite") trajectory.setText(action.text);
          if (action.do === "insert") trajectory.memory(Math.min(fromStep + action.at, trajectory.steps.length));
          if (action.do === "plan") {
            trajectory.closePlanner();
            trajectory.plan();
          }
          if (action.do === "compact") {
            trajectory.closePlanner();
            trajectory.checkpoint();
            trajectory.plan();
          }
          if (action.do === "reset") {
            trajectory.setText("");
            rewrittenThinking ||= trajectory.planner.response.thinking !== "";
            trajectory.planner.response.thinking = "";
          }
          if (action.do === "poll") follower.poll();
        }
        trajectory.finish();
        follower.pollToEnd();
        follower.poll();

        const terminals = follower.events.filter(isTerminal);
        const whole = trajectory.text === "" ? { type: "failed" } : { type: "finished", text: trajectory.text };
        expect(terminals).toEqual([expect.objectContaining(whole)]);
        expect(follower.events.at(-1)).toBe(terminals[0]);
        const { text, thinking } = replay(follower.events);
        expect(trajectory.text === "" ? "" : text).toBe(trajectory.text); // a failed turn takes nothing back
        const shown = trajectory.steps
          .slice(fromStep)
          .map((s) => (s.step.case === "plannerResponse" ? s.step.value.thinking : ""))
          .filter((t) => t !== "")
          .join("\n\n");
        expect(rewrittenThinking || shown.startsWith(thinking)).toBe(true);
      }),
      { numRuns: 500 },
    );
  });
});
