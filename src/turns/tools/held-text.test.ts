import { describe, expect, it } from "vitest";
import { bash, fakeRequest, readFile, user } from "../prompt/request.fake.ts";
import { planAnswer } from "./answer-plan.ts";
import { writeCall } from "./grammar.ts";
import { PlannedAnswer } from "./planned-answer.ts";

const plan = planAnswer(fakeRequest({ tools: [bash, readFile], messages: [user("Go on.")] }), "t");
if (plan === undefined) throw new Error("the plan offers tools");

/** What a reader has of an answer before its end. */
function shown(pieces: readonly string[]): string {
  const answer = new PlannedAnswer(plan ?? never(), { mayAskAgain: true });
  return pieces
    .flatMap((delta) => answer.push({ type: "text", delta }))
    .map((event) => (event.type === "text" ? event.delta : ""))
    .join("");
}

function never(): never {
  throw new Error("the plan offers tools");
}

describe("text that may still become a call", () => {
  it.each([
    ["plain words", "A word, a `quote`, x < y, {a}, [b](c) and <b>more</b> of it.\n"],
    ["JSON that names no tool", '{"name":"Ada","born":1815}\n'],
    ["a call of another form after a word", 'Look: {"name":"bash","arguments":{"command":"ls"}}\n'],
    ["code", "```ts\nconst a = 1;\n```\n"],
  ])("passes at once if it is %s", (_, words) => {
    expect(shown(Array.from(words.repeat(20))).trimEnd()).toBe(words.repeat(20).trimEnd());
  });

  it("is held while the whole answer may be a call", () => {
    expect(shown(['{"name":"bash","arguments":{"command":"ls"}}', "\n\nThat", " is all."])).toBe("");
  });

  it("of megabytes is read in one pass", () => {
    const long = JSON.stringify({ command: "x".repeat(2_000_000) });
    for (const text of [writeCall(plan?.mark ?? "", "bash", long), `{"name":"bash","arguments":${long}}`]) {
      const answer = new PlannedAnswer(plan ?? never(), { mayAskAgain: true });
      for (let at = 0; at < text.length; at += 50) answer.push({ type: "text", delta: text.slice(at, at + 50) });
      answer.push({ type: "finished", reason: { unified: "stop", raw: undefined }, text });
      expect(answer.told.calls[0]?.argumentsDelta).toBe(long);
    }
  });
});
