import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { TurnEventBody } from "../log/event.ts";
import { answerDiff, emptyAnswer } from "./answer-diff.ts";
import { replay } from "./replay.fake.ts";

describe("answerDiff", () => {
  test("growth is one delta", () => {
    const { events } = answerDiff({ text: "Hel", thinking: "" }, { text: "Hello", thinking: "hm" }, false);
    expect(events).toEqual([
      { type: "thinking", delta: "hm" },
      { type: "text", delta: "lo" },
    ]);
  });

  test("a change in the middle is a rewrite", () => {
    const { events } = answerDiff({ text: "Hello", thinking: "" }, { text: "Hallo!", thinking: "" }, false);
    expect(events).toEqual([{ type: "rewritten", text: "Hallo!" }]);
  });

  test("text that is merely shorter is waited for, and taken as it is once settled", () => {
    const sent = { text: "Hello", thinking: "" };
    const now = { text: "Hel", thinking: "" };
    expect(answerDiff(sent, now, false)).toEqual({ events: [], sent });
    expect(answerDiff(sent, now, true).events).toEqual([{ type: "rewritten", text: "Hel" }]);
  });

  test("thinking that was rewritten is neither repeated nor taken back", () => {
    const sent = { text: "", thinking: "first thought" };
    expect(answerDiff(sent, { text: "", thinking: "other thought, longer" }, true).events).toEqual([]);
    expect(answerDiff(sent, { text: "", thinking: "first thought, more" }, true).events).toEqual([
      { type: "thinking", delta: ", more" },
    ]);
  });

  const short = fc.string({ unit: fc.constantFrom("a", "b", "é", "🙂", "\n"), maxLength: 6 });
  test("for any answers of a server, the events lead to the text that was last taken over", () => {
    fc.assert(
      fc.property(fc.array(fc.record({ text: short, thinking: short })), (snapshots) => {
        let sent = emptyAnswer;
        const events: TurnEventBody[] = [];
        for (const now of snapshots) {
          const step = answerDiff(sent, now, false);
          sent = step.sent;
          events.push(...step.events);
          expect(replay(events)).toEqual(sent);
          expect(sent.text.startsWith(now.text)).toBe(true);
        }
        const last = snapshots.at(-1);
        if (last === undefined) return;
        events.push(...answerDiff(sent, last, true).events);
        expect(replay(events).text).toBe(last.text);
      }),
    );
  });
});

test("a delta does not keep the whole answer in memory that it was cut from", () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void; // V8's own
  const held: unknown[] = [];
  collect();
  const before = process.memoryUsage().heapUsed;
  let sent = emptyAnswer;
  for (let poll = 1; poll <= 40; poll++) {
    const text = Buffer.alloc(1_000_000 + poll * 100, "text that flows on and on, ").toString("latin1"); // anew, as each poll brings it
    const diff = answerDiff(sent, { text, thinking: text }, false);
    sent = diff.sent;
    if (poll > 1) held.push(diff.events);
  }
  collect();
  expect(held).toHaveLength(39);
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(10_000_000);
});
