import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { bash, fakeRequest, readFile, user } from "../prompt/request.fake.ts";
import { planAnswer } from "./answer-plan.ts";
import { holdLimit } from "./find-calls.ts";
import { markOf } from "./grammar.ts";
import { PlannedAnswer } from "./planned-answer.ts";

const mark = markOf({ messages: [] }, "t");
const plan = planAnswer(fakeRequest({ tools: [bash, readFile], messages: [user("<tool_call> ".repeat(1_000))] }), "t");

/** The pieces that answers are made of: ordinary code and text, and all that calls begin with. */
const pieces = [
  "word ",
  "\n",
  " ",
  "`",
  "```\n",
  "```json\n",
  "~~~\n",
  "<",
  "</",
  "<div>",
  "[",
  "{",
  "}",
  '"',
  "\\",
  "function a(b){return b<c&&d>e} ",
  '{"a":[1,2,{"b":"c"}]},',
  '{"name":"bash",',
  '{"name":"bash","arguments":{"command":"ls"}}\n',
  '<tool_call name="bash">',
  "<tool_call>",
  "</tool_call>",
  `<tool_call-${mark} name="bash">`,
  `</tool_call-${mark}>`,
  '<invoke name="bash"><parameter name="command">',
  "<bash>",
  "<read_file><path>",
  "<function_calls>",
  "<tool_result ",
  "<think>",
  "<summary>",
  "<|tool_call_begin|>",
  "<|channel|>commentary to=bash ",
  "[TOOL_CALLS]",
  "Action: bash\n",
  "Action Input: ",
];

/** Both are longer than what is held at most. */
const smallSize = 131_072;
const factor = 4;
/** How much longer a KB may take in a long answer. Anything that grows with the square takes 4 times as long. */
const maxGrowth = 2.5;

/** A poll may bring a whole answer. */
const inOne = Number.POSITIVE_INFINITY;

const finished = (text: string) => ({ type: "finished", reason: { unified: "stop", raw: undefined }, text }) as const;

function read(text: string, deltaLength: number): number {
  if (plan === undefined) throw new Error("the plan offers tools");
  const started = process.cpuUsage();
  const answer = new PlannedAnswer(plan, { mayAskAgain: true });
  for (let at = 0; at < text.length; at += deltaLength)
    answer.push({ type: "text", delta: text.slice(at, at + deltaLength) });
  answer.push(finished(text));
  return process.cpuUsage(started).user;
}

/** The processor time a KB of a long answer takes beside that of a short one; the least of several tries, since other work only adds. */
function growth(unit: string, deltaLength: number): number {
  const text = unit.repeat(Math.ceil((smallSize * factor) / unit.length));
  const floor = 5_000; // microseconds: below it the clock is too coarse
  let [small, large] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (let tries = 0; tries < 10; tries++) {
    small = Math.min(small, Math.max(floor, read(text.slice(0, smallSize), deltaLength)));
    large = Math.min(large, read(text.slice(0, smallSize * factor), deltaLength));
    if (large < small * factor * maxGrowth) break;
  }
  return large / (small * factor);
}

describe("the time to read an answer grows with its length, not faster", () => {
  it.each(pieces)("of %j repeated", (piece) => {
    expect(growth(piece, 50)).toBeLessThan(maxGrowth);
  });

  it.each(["<bash>", "```\n", "<div><tool>a</tool></div>"])("of %j repeated, in one delta", (piece) => {
    expect(growth(piece, inOne)).toBeLessThan(maxGrowth);
  });

  it("of any short pattern of these pieces, in deltas of any size", { timeout: 300_000 }, () => {
    const pattern = fc.array(fc.constantFrom(...pieces), { minLength: 1, maxLength: 6 }).map((parts) => parts.join(""));
    fc.assert(
      fc.property(pattern, fc.constantFrom(7, 50, 4_096, inOne), (unit, deltaLength) => {
        expect(growth(unit, deltaLength)).toBeLessThan(maxGrowth);
      }),
      { numRuns: 8 },
    );
  });
});

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
