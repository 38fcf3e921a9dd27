import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { estimateTokens } from "../base/token-estimate.ts";
import type { TurnEventBody } from "../log/event.ts";
import { limitOutput } from "./limit-output.ts";

const countTokens = (text: string) => Math.ceil(text.length / 4);
const finished = (text: string): TurnEventBody => ({
  type: "finished",
  reason: { unified: "stop", raw: "END_TURN" },
  text,
});

function run(
  limits: { readonly stop?: readonly string[]; readonly maxOutputTokens?: number },
  bodies: readonly TurnEventBody[],
): readonly TurnEventBody[] {
  const stage = limitOutput({ stop: [], maxOutputTokens: undefined, countTokens, ...limits });
  return stage === undefined ? bodies : bodies.flatMap((body) => stage.push(body));
}

function textOf(bodies: readonly TurnEventBody[]): string {
  return bodies.reduce(
    (text, body) => (body.type === "text" ? text + body.delta : body.type === "rewritten" ? body.text : text),
    "",
  );
}

const deltas = (...parts: readonly string[]) => parts.map((delta): TurnEventBody => ({ type: "text", delta }));

describe("a stop sequence", () => {
  test("ends the answer where it begins, also across deltas, and nothing of it is passed on", () => {
    const events = run({ stop: ["<END>"] }, [...deltas("one <E", "N", "D> two"), finished("one <END> two")]);
    expect(textOf(events)).toBe("one ");
    expect(events.at(-1)).toEqual({ type: "finished", reason: { unified: "stop", raw: "<END>" }, text: "one " });
  });

  test("that does not come after all is passed on", () => {
    const events = run({ stop: ["<END>"] }, [...deltas("a <E", "D> b <EN"), finished("a <ED> b <EN")]);
    expect(textOf(events)).toBe("a <ED> b <EN");
    expect(events.at(-1)).toEqual(finished("a <ED> b <EN"));
  });

  test("that stands first counts, whichever was listed first", () => {
    expect(textOf(run({ stop: ["later", "soon"] }, deltas("a soon b later")))).toBe("a ");
  });

  test("in text that only the end has counts too", () => {
    expect(run({ stop: ["X"] }, [finished("aXb")])).toEqual([
      { type: "text", delta: "a" },
      { type: "finished", reason: { unified: "stop", raw: "X" }, text: "a" },
    ]);
  });

  test("in rewritten text ends the answer, and takes back what stands after it", () => {
    const events = run({ stop: ["X"] }, [...deltas("abc"), { type: "rewritten", text: "aXc" }]);
    expect(textOf(events)).toBe("a");
    expect(events.at(-1)).toMatchObject({ type: "finished", text: "a" });
  });

  test("lets held text go before a tool call, a failure or a cancel", () => {
    const call: TurnEventBody = { type: "tool_call", callId: "1", name: "n", argumentsDelta: "{}", done: true };
    expect(run({ stop: ["<END>"] }, [...deltas("a <E"), call])).toEqual([...deltas("a ", "<E"), call]);
  });

  test("that is empty limits nothing", () => {
    expect(limitOutput({ stop: [""], maxOutputTokens: undefined, countTokens })).toBeUndefined();
  });
});

describe("a length limit", () => {
  test("ends the answer as `length`, without half a character", () => {
    const events = run({ maxOutputTokens: 2 }, deltas("1234567😀90"));
    expect(events.at(-1)).toEqual({ type: "finished", reason: { unified: "length", raw: undefined }, text: "1234567" });
  });

  test("that the answer just meets changes nothing", () => {
    expect(run({ maxOutputTokens: 2 }, [...deltas("12345678"), finished("12345678")]).at(-1)).toEqual(
      finished("12345678"),
    );
  });
});

test("thinking, usage and what comes after the end", () => {
  const thinking: TurnEventBody = { type: "thinking", delta: "X" };
  expect(run({ stop: ["X"] }, [thinking])).toEqual([thinking]);
  expect(run({ stop: ["X"] }, [...deltas("X"), ...deltas("more"), finished("Xmore")])).toHaveLength(1);
});

test("however deltas are cut, the answer is the text up to the first sequence", () => {
  const piece = fc.constantFrom("a", "b", "ab", "ba", "aab", "");
  fc.assert(
    fc.property(
      fc.array(piece, { maxLength: 20 }),
      fc.array(fc.constantFrom("aab", "bb", "aba"), { maxLength: 2 }),
      (parts, stop) => {
        const whole = parts.join("");
        const cuts = stop.map((sequence) => whole.indexOf(sequence)).filter((at) => at !== -1);
        const expected = cuts.length === 0 ? whole : whole.slice(0, Math.min(...cuts));
        const events = run({ stop }, [...deltas(...parts), finished(whole)]);
        expect(textOf(events)).toBe(expected);
        expect(events.filter(({ type }) => type === "finished")).toHaveLength(1);
        expect(events.some(({ type }) => type === "rewritten")).toBe(false);
      },
    ),
  );
});

/** The events that the whole text gives each time it has changed: what the stage must give without reading the whole text. */
function defined(
  limits: Parameters<typeof limitOutput>[0],
  bodies: readonly TurnEventBody[],
): readonly TurnEventBody[] {
  const { stop, maxOutputTokens = Infinity } = limits;
  const within = (text: string) => {
    let fits = text.length;
    while (fits > 0 && limits.countTokens(text.slice(0, fits)) > maxOutputTokens) fits--;
    const isHalf = fits < text.length && /[\ud800-\udbff]/.test(text.charAt(fits - 1));
    return text.slice(0, isHalf ? fits - 1 : fits);
  };
  const held = (text: string) => {
    for (let length = text.length; length > 0; length--) {
      const end = text.slice(-length);
      if (stop.some((sequence) => sequence.length > length && sequence.startsWith(end))) return length;
    }
    return 0;
  };
  let [arrived, passed] = ["", ""];
  const events: TurnEventBody[] = [];
  for (const body of bodies) {
    const isText = body.type === "text" || body.type === "rewritten" || body.type === "finished";
    if (body.type === "text") arrived += body.delta;
    else if (isText) arrived = body.text;
    else if (body.type !== "tool_call") {
      events.push(body);
      continue;
    }
    const from = arrived.startsWith(passed) ? passed.length : 0;
    const matches = stop.map((raw) => ({ raw, at: arrived.indexOf(raw, from) })).filter(({ at }) => at !== -1);
    const first = matches.reduce<(typeof matches)[number] | undefined>(
      (best, match) => (best !== undefined && best.at <= match.at ? best : match),
      undefined,
    );
    const isSettled = body.type === "finished" || body.type === "tool_call";
    const wanted = arrived.slice(0, first?.at ?? arrived.length - (isSettled ? 0 : held(arrived.slice(from))));
    const text = within(wanted);
    if (!text.startsWith(passed)) events.push({ type: "rewritten", text });
    else if (text !== passed) events.push({ type: "text", delta: text.slice(passed.length) });
    passed = text;
    const isTooLong = text.length < wanted.length;
    if (isTooLong || first !== undefined) {
      const reason = isTooLong
        ? ({ unified: "length", raw: undefined } as const)
        : ({ unified: "stop", raw: first?.raw } as const);
      return [...events, { type: "finished", reason, text }];
    }
    if (body.type === "finished" || body.type === "tool_call") events.push(body);
  }
  return events;
}

test("text in parts gives what the whole text gives, with tool calls and rewrites between the parts", () => {
  const text = fc.string({ unit: fc.constantFrom("a", "b", "ab", "é", "😀", "\ud83d", "\ude00"), maxLength: 6 });
  const call: TurnEventBody = { type: "tool_call", callId: "1", name: "n", argumentsDelta: "{}", done: true };
  const body = fc.oneof(
    { weight: 12, arbitrary: text.map((delta): TurnEventBody => ({ type: "text", delta })) },
    { weight: 1, arbitrary: text.map((rewritten): TurnEventBody => ({ type: "rewritten", text: rewritten })) },
    fc.constantFrom<TurnEventBody>(call, { type: "thinking", delta: "ab" }),
  );
  const sequence = fc.string({ unit: fc.constantFrom("a", "b", "😀"), minLength: 1, maxLength: 5 });
  fc.assert(
    fc.property(
      fc.array(body, { maxLength: 25 }),
      fc.array(sequence, { maxLength: 3 }),
      fc.option(fc.integer({ min: 0, max: 30 }), { nil: undefined }),
      fc.constantFrom(countTokens, estimateTokens),
      (bodies, stop, maxOutputTokens, count) => {
        const whole = bodies.reduce(
          (before, each) =>
            each.type === "text" ? before + each.delta : each.type === "rewritten" ? each.text : before,
          "",
        );
        const all = [...bodies, finished(whole)];
        const limits = { stop, maxOutputTokens, countTokens: count };
        const stage = limitOutput(limits);
        expect(stage === undefined ? all : all.flatMap((each) => stage.push(each))).toEqual(
          stage === undefined ? all : defined(limits, all),
        );
      },
    ),
    { numRuns: 3_000 },
  );
});

test.each([
  ["words", "words and words ".repeat(125_000)],
  ["words, then other letters", `${"words ".repeat(170_000)}${"语".repeat(1_000_000)}`],
  ["other letters, then words", `${"语".repeat(1_000_000)}${"words ".repeat(170_000)}`],
])("a long text of %s is read some times to find where its limit is, and not twenty", (_, text) => {
  for (const maxOutputTokens of [1_000, 250_000, 500_000]) {
    let read = 0;
    const count = (part: string) => {
      read += part.length;
      return estimateTokens(part);
    };
    const [first] =
      limitOutput({ stop: [], maxOutputTokens, countTokens: count })?.push({ type: "text", delta: text }) ?? [];
    const passed = first?.type === "text" ? first.delta : "";
    expect(estimateTokens(passed)).toBe(Math.min(maxOutputTokens, estimateTokens(text)));
    expect(estimateTokens(text.slice(0, passed.length + 1))).toBeGreaterThanOrEqual(maxOutputTokens);
    expect(read).toBeLessThan(9 * text.length);
  }
});
