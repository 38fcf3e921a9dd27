import { describe, expect, it } from "vitest";
import { bash, fakeRequest, readFile, user } from "../prompt/request.fake.ts";
import { planAnswer } from "./answer-plan.ts";
import { holdLimit } from "./find-calls.ts";
import { PlannedAnswer } from "./planned-answer.ts";

const plan = planAnswer(fakeRequest({ tools: [bash, readFile], messages: [user("Go on.")] }), "t");
const finished = (text: string) => ({ type: "finished", reason: { unified: "stop", raw: undefined }, text }) as const;

describe("text that may still become a call", () => {
  it("is held up to a limit, and is whole text then", () => {
    if (plan === undefined) throw new Error("the plan offers tools");
    const text = `{"name":"bash","arguments":{"command":"${"x".repeat(2 * holdLimit)}`;
    const answer = new PlannedAnswer(plan, { mayAskAgain: true });
    let shown = "";
    let held = 0;
    for (let at = 0; at < text.length; at += 100) {
      for (const event of answer.push({ type: "text", delta: text.slice(at, at + 100) }))
        if (event.type === "text") shown += event.delta;
      held = Math.max(held, at + 100 - shown.length);
    }
    expect(held).toBeLessThanOrEqual(holdLimit + 100);
    for (const event of answer.push(finished(text))) if (event.type === "text") shown += event.delta;
    expect(shown).toBe(text);
  });

  it("passes at once if it is plain words, or code that cannot be one", () => {
    if (plan === undefined) throw new Error("the plan offers tools");
    const answer = new PlannedAnswer(plan, { mayAskAgain: true });
    const words = "A word, a `quote`, x < y, {a}, [b](c) and <b>more</b> of it.\n";
    for (let n = 0; n < 50; n++) {
      const shown = answer
        .push({ type: "text", delta: words })
        .flatMap((event) => (event.type === "text" ? [event.delta] : []));
      expect(shown.join("").trim()).toBe(words.trim());
    }
  });
});
