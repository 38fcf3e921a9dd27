import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseJson } from "../../base/json.ts";
import type { Message, Part, Tool } from "../../log/request.ts";
import { bash, fakeRequest, system, toolResult, user } from "../prompt/request.fake.ts";
import { heldPart, historyAfter, isHeldIn, type VisibleAnswer } from "./visible-history.ts";

const edit: Tool = {
  name: "Edit",
  description: "",
  kind: "function",
  parameters: {
    type: "object",
    properties: {
      path: { type: "string" },
      old: { type: "string" },
      replace_all: { type: "boolean", default: false },
      lines: { type: "array", items: { type: "object", properties: { mode: { default: "exact" } } } },
    },
    required: ["path"],
  },
};
const first = fakeRequest({ messages: [system("Be brief."), user("Change it.\n\nAll of it.")], tools: [edit, bash] });
const args = '{"path":"a.ts","old":"x","lines":[{"from":1,"weight":1e2}]}';

/** Whether a request that shows this answer and a result of each of its calls continues the conversation that gave it. */
function continues(answer: VisibleAnswer, shown: readonly Message[], question = first.messages): boolean {
  const ids = shown.flatMap((message) => (message.role === "assistant" ? message.toolCalls : [])).map((c) => c.callId);
  const messages = [...question, ...shown, ...ids.map((id) => toolResult(id, "done")), user("Go on.")];
  const asked = heldPart(
    { ...first, messages: [...messages.slice(0, question.length + shown.length), ...messages.slice(-1)] },
    "m",
  );
  if (asked === undefined) throw new Error("the request has an answer");
  const held = historyAfter(first, "m", answer);
  return held.tools === asked.history.tools && isHeldIn(asked.history, held);
}

const calls = (written: readonly string[]) =>
  written.map((text, i) => ({ callId: `call_${i}`, name: "Edit", arguments: text }));
const shownAs = (text: string, written: readonly string[]): Message => ({
  role: "assistant",
  parts: text === "" ? [] : [{ type: "text", text }],
  toolCalls: calls(written).map((call) => ({ ...call, kind: "function" })),
});

describe("the history that a client sends back", () => {
  it.each([
    [
      "the default of its own schema",
      '{"path":"a.ts","old":"x","lines":[{"from":1,"weight":1e2}],"replace_all":false}',
    ],
    ["a default inside a list", '{"path":"a.ts","old":"x","lines":[{"from":1,"weight":1e2,"mode":"exact"}]}'],
    [
      "members that no schema has",
      '{"path":"a.ts","old":"x","lines":[{"from":1,"weight":1e2,"id":7}],"cache":{"a":null}}',
    ],
    ["another order", '{"lines":[{"weight":1e2,"from":1}],"old":"x","path":"a.ts"}'],
    ["another spelling of numbers", '{"path":"a.ts","old":"x","lines":[{"from":1.0,"weight":100}]}'],
  ])("is ours with %s", (_, shown) => {
    expect(continues({ text: "", calls: calls([args]) }, [shownAs("", [shown])])).toBe(true);
  });

  it("is ours without the defaults and the nulls that we gave", () => {
    const given = '{"path":"a.ts","replace_all":false,"old":null}';
    expect(continues({ text: "", calls: calls([given]) }, [shownAs("", ['{"path":"a.ts"}'])])).toBe(true);
  });

  it.each([
    ["another value", '{"path":"b.ts","old":"x","lines":[{"from":1,"weight":1e2}]}'],
    [
      "another value than the default",
      '{"path":"a.ts","old":"x","lines":[{"from":1,"weight":1e2}],"replace_all":true}',
    ],
    ["a member less", '{"path":"a.ts","lines":[{"from":1,"weight":1e2}]}'],
    ["an item more", '{"path":"a.ts","old":"x","lines":[{"from":1,"weight":1e2},{"from":2}]}'],
    ["no JSON", "a.ts"],
  ])("is another one with %s", (_, shown) => {
    expect(continues({ text: "", calls: calls([args]) }, [shownAs("", [shown])])).toBe(false);
  });

  it("is ours however a client rewrites it, and another one where a text or a member is another", () => {
    const word = fc.stringMatching(/^[a-z]{1,8}$/);
    const call = fc.record({
      path: word,
      old: fc.string(),
      lines: fc.array(fc.record({ from: fc.integer(), note: word })),
    });
    const rewrite = fc.record({
      split: fc.nat(40),
      trims: fc.boolean(),
      fills: fc.boolean(),
      reverses: fc.boolean(),
      adds: fc.boolean(),
      isApart: fc.boolean(),
      ids: word,
      edits: fc.constantFrom("nothing", "text", "member"),
    });
    fc.assert(
      fc.property(fc.array(word, { minLength: 1 }), fc.array(call, { maxLength: 6 }), rewrite, (words, given, how) => {
        const text = ` ${words.join("\n\n ")}\n`;
        const answer = { text, calls: calls(given.map((each) => JSON.stringify(each))) };
        const said = how.edits === "text" ? `${text} indeed` : text;
        const parts = [said.slice(0, how.split), said.slice(how.split)].map((part) => (how.trims ? part.trim() : part));
        const shownCalls = given.map((each, i) => {
          const members = Object.entries({
            ...each,
            ...(how.fills ? { replace_all: false, lines: each.lines.map((line) => ({ ...line, mode: "exact" })) } : {}),
            ...(how.adds ? { cache_control: { type: "ephemeral" }, n: null } : {}),
            ...(how.edits === "member" && i === 0 ? { path: `${each.path}!` } : {}),
          });
          const written = JSON.stringify(Object.fromEntries(how.reverses ? members.reverse() : members));
          return { callId: `${how.ids}${i}`, name: "Edit", arguments: written, kind: "function" as const };
        });
        const texts = parts.map((part): Part => ({ type: "text", text: part }));
        const shown: Message[] = how.isApart
          ? [
              ...texts.map((part): Message => ({ role: "assistant", parts: [part], toolCalls: [] })),
              ...shownCalls.map((one): Message => ({ role: "assistant", parts: [], toolCalls: [one] })),
            ]
          : [{ role: "assistant", parts: texts, toolCalls: shownCalls }];
        const question = how.isApart
          ? [system("Be brief."), user("Change it."), user("All of it.\n")]
          : [
              system("Be brief. "),
              { role: "user" as const, parts: user("Change it.").parts.concat(user("All of it.").parts) },
            ];
        const isEdited = how.edits === "text" || (how.edits === "member" && given.length > 0);
        expect(continues(answer, shown, question)).toBe(!isEdited);
      }),
    );
  });

  it("is ours with earlier results in another order, earlier pictures changed or left out, and letters decomposed", () => {
    const picture = (base64: string): Part => ({ type: "image", mimeType: "image/png", base64 });
    const asked = (parts: readonly Part[], swaps: boolean): readonly Message[] => {
      const results = [toolResult("call_0", "done"), toolResult("call_1", "not done")];
      const question: Message = { role: "user", parts: [...user("Change it.").parts, ...parts] };
      return [question, shownAs("café", [args, "{}"]), ...(swaps ? results.reverse() : results)];
    };
    const given = '{"path":"café"}';
    const answer = { text: "tête", calls: calls([given]).map((call) => ({ ...call, callId: "call_9" })) };
    const held = historyAfter({ ...first, messages: asked([picture("AAAA")], false) }, "m", answer);
    const holds = (earlier: readonly Message[], text = answer.text, written = given) => {
      const messages = [...earlier, shownAs(text, [written]), toolResult("call_0", "x")];
      const part = heldPart({ ...first, messages }, "m");
      return part !== undefined && isHeldIn(part.history, held);
    };
    for (const parts of [[picture("AAAA")], [picture("BBBB")], []])
      for (const swaps of [false, true])
        expect([parts, swaps, holds(asked(parts, swaps))]).toEqual([parts, swaps, true]);
    expect(holds(asked([], true), "tête".normalize("NFD"), given.normalize("NFD"))).toBe(true);
    expect(holds(asked([], true), "tete")).toBe(false);
  });

  it.each([
    ["It is 9:59 AM, Monday, November 30, 2026.", "It is 10:01 PM, Tuesday, December 1st, 2026."],
    ["Started 2026-11-30 at 23:59:59", "Started 2026-12-01 at 00:00:01"],
    ["Date: 30/11/2026", "Date: 1/12/2026"],
    ["Today is 30. November 2026", "Today is 1. December 2026"],
  ])("is ours with another date or time in its instructions: %s", (before, now) => {
    const of = (text: string) => ({ ...first, messages: [system(`Be brief. ${text}`), user("Q")] });
    const answer = { text: "A", calls: [] };
    const messages = [...of(now).messages, shownAs("A", []), user("Go on.")];
    const part = heldPart({ ...first, messages }, "m");
    expect(part && isHeldIn(part.history, historyAfter(of(before), "m", answer))).toBe(true);
    expect(part && isHeldIn(part.history, historyAfter(of(`${before} Be kind.`), "m", answer))).toBe(false);
  });

  it("keeps no long text of a call, and reads megabytes of arguments at once", () => {
    const long = JSON.stringify({ path: "a.ts", old: "x".repeat(2_000_000) });
    const { calls: kept } = historyAfter(first, "m", { text: "", calls: calls([long]) });
    expect(JSON.stringify(kept).length).toBeLessThan(200);
    expect(parseJson(long)).toMatchObject({ path: "a.ts" });
  });
});
