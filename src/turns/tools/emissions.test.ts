import { readdirSync, readFileSync } from "node:fs";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { TurnEventBody } from "../../log/event.ts";
import type { Tool, ToolChoice } from "../../log/request.ts";
import { fakeRequest } from "../prompt/request.fake.ts";
import { type AnswerPlan, planAnswer } from "./answer-plan.ts";
import { markOf } from "./grammar.ts";
import { PlannedAnswer } from "./planned-answer.ts";

const mark = markOf({ messages: [] }, "t");
const corpus = new URL("../../../test/corpus/tool-emissions/", import.meta.url);
const tools = JSON.parse(readFileSync(new URL("tools.json", corpus), "utf8")) as readonly Tool[]; // our own file

/**
 * A model's answer and what has to come of it; `tools.json` holds the tools that are offered. Calls and texts stand in the order of the
 * events; neighbouring texts are one. Arguments of a freeform tool are a JSON string. Each case is read whole, in pieces of one
 * character, and cut once at every place.
 *
 *     #### what is special about this case
 *     @tools bash read_file     only these are offered (otherwise all)
 *     @choice required          or `named:bash`
 *     @single                   one call an answer
 *     @end length               the answer was cut off
 *     <<<<
 *     the answer, exactly; the last line break does not belong to it
 *     >>>>
 *     text "what the reader sees"
 *     first_try bash {"command":"ls"}
 *     repaired bash {"command":"ls"}
 *     cut bash "arguments as far as they came"
 *     problem a part of what the model is told when it is asked again
 */
interface Case {
  readonly name: string;
  readonly plan: AnswerPlan;
  readonly end: "stop" | "length";
  readonly input: string;
  readonly expected: readonly string[];
}

function parseCase(block: string): Case {
  const match = /^([^\n]*)\n((?:@[^\n]*\n)*)<<<<\n([^]*?)\n?>>>>\n?([^]*)$/.exec(block);
  if (match === null) throw new Error(`no case: ${block}`);
  const [, name = "", settings = "", written = "", told = ""] = match;
  const [input, expected] = [written, told].map((text) => text.replaceAll("-MARK", `-${mark}`)) as [string, string];
  const setting = (key: string) => new RegExp(`^@${key} ?(.*)$`, "m").exec(settings)?.[1];
  const offered = setting("tools")?.split(" ");
  const choice = setting("choice");
  const toolChoice: ToolChoice =
    choice === undefined
      ? { type: "auto" }
      : choice === "required"
        ? { type: "required" }
        : { type: "named", name: choice.slice("named:".length) };
  const plan = planAnswer(
    fakeRequest({
      tools: tools.filter((tool) => offered === undefined || offered.includes(tool.name)),
      toolChoice,
      parallelToolCalls: setting("single") === undefined,
    }),
    "t",
  );
  if (plan === undefined) throw new Error("a case offers tools");
  return {
    name,
    plan,
    end: setting("end") === "length" ? "length" : "stop",
    input,
    expected: expected.split("\n").filter((line) => line !== ""),
  };
}

/** The result of an answer, in the words of the corpus. */
function outcome({ plan, end }: Case, pieces: readonly string[]): readonly string[] {
  const answer = new PlannedAnswer(plan, { mayAskAgain: true });
  const events = pieces.flatMap((delta) => answer.push({ type: "text", delta }));
  const reason = { unified: end, raw: undefined };
  const last = answer.push({ type: "finished", reason, text: pieces.join("") });
  const lines: string[] = [];
  const calls = new Map<string, { name: string; arguments: string; done: boolean; line: number }>();
  const put = (event: TurnEventBody) => {
    if (event.type === "text") {
      const before = lines.at(-1);
      if (before?.startsWith("text ") === true)
        lines[lines.length - 1] = `text ${JSON.stringify(JSON.parse(before.slice(5)) + event.delta)}`;
      else lines.push(`text ${JSON.stringify(event.delta)}`);
    } else if (event.type === "tool_call") {
      const call = calls.get(event.callId) ?? {
        name: event.name,
        arguments: "",
        done: false,
        line: lines.push("") - 1,
      };
      if (call.done) throw new Error(`an event after the end of ${event.name}`);
      call.arguments += event.argumentsDelta;
      call.done = event.done;
      calls.set(event.callId, call);
    } else throw new Error(`unexpected ${event.type}`);
  };
  for (const event of [...events, ...last]) put(event);
  for (const call of calls.values()) {
    const freeform = plan.names.byShownName(call.name)?.tool.kind === "freeform";
    const shown = freeform || !call.done ? JSON.stringify(call.arguments) : JSON.stringify(JSON.parse(call.arguments));
    lines[call.line] = `${call.done ? "call" : "cut"} ${call.name} ${shown}`;
  }
  const reask = answer.result?.reask;
  return reask === undefined ? lines : [...lines, `problem ${reask}`];
}

function matches(actual: readonly string[], expected: readonly string[]): void {
  const problems = (lines: readonly string[]) => lines.filter((line) => line.startsWith("problem"));
  // the corpus says of each call whether the model wrote it right; the client gets both alike
  const rest = (lines: readonly string[]) =>
    lines
      .filter((line) => !line.startsWith("problem"))
      .map((line) => line.replace(/^(?:first_try|repaired) /, "call "));
  expect(rest(actual)).toEqual(rest(expected));
  expect(problems(actual)).toHaveLength(problems(expected).length);
  for (const [index, line] of problems(expected).entries())
    expect(problems(actual)[index]).toContain(line.slice("problem ".length));
}

const files = readdirSync(corpus).filter((name) => name.endsWith(".txt"));
const cases = files.map((file) => ({
  file,
  cases: readFileSync(new URL(file, corpus), "utf8")
    .split(/^#### /m)
    .slice(1)
    .map(parseCase),
}));

describe("what models write when they mean to call a tool", () => {
  it("is a corpus of at least 200 answers, most of them wrong", () => {
    const all = cases.flatMap((group) => group.cases);
    expect(all.length).toBeGreaterThanOrEqual(200);
    const wrong = all.filter(({ expected }) => expected.some((line) => /^(?:repaired|problem|cut)/.test(line)));
    expect(wrong.length).toBeGreaterThan(all.length / 2);
  });

  for (const group of cases) {
    describe(`of ${group.file}`, () => {
      for (const one of group.cases) {
        it(`reads: ${one.name}`, () => {
          const whole = outcome(one, [one.input]);
          matches(whole, one.expected);
          const cuts = [
            one.input.split(""),
            ...Array.from({ length: one.input.length }, (_, at) => [one.input.slice(0, at), one.input.slice(at)]),
          ];
          for (const pieces of cuts) expect(outcome(one, pieces), `cut as ${JSON.stringify(pieces)}`).toEqual(whole);
        });
      }
    });
  }

  /** Pieces to build answers from, right and wrong ones. */
  const pieces = [
    [
      `<tool_call-${mark} name="bash">`,
      `<tool_call-${mark} name="apply_patch">`,
      `</tool_call-${mark}>`,
      "<summary>",
      "</summary>",
    ],
    [
      '<tool_call name="bash">',
      '<tool_call name="apply_patch">',
      "<tool_call>",
      "</tool_call>",
      '<invoke name="bash">',
      "</invoke>",
    ],
    [
      '<parameter name="command">',
      "</parameter>",
      "<bash>",
      "</bash>",
      "<command>",
      "</command>",
      "<tool_result>",
      "<think>",
      "</think>",
    ],
    [
      '{"command":"ls"}',
      '{"name":"bash","arguments":{"command":"ls"}}',
      "{",
      "}",
      "[",
      "]",
      '"',
      ",",
      '{"command":"',
      '"}',
      "\\",
    ],
    [
      "```",
      "```json",
      "```tool_code",
      "~~~",
      "`",
      "bash(command='ls')",
      "Action: bash",
      "Action Input: ",
      "Observation:",
      "[TOOL_CALLS]",
    ],
    [
      "<|tool_call_begin|>",
      "functions.bash:0",
      "<|tool_call_argument_begin|>",
      "<|tool_call_end|>",
      "for example",
      "<",
      "</",
      "é😀",
      " ",
      "\n",
      "\n",
      "\n",
      "\r\n",
    ],
  ].flat();

  it("reads any heap of pieces without a throw, the same however it is cut, and loses no plain text", () => {
    const plan = parseCase("x\n<<<<\n>>>>\n").plan;
    const heap = fc.array(fc.constantFrom(...pieces), { maxLength: 24 }).map((parts) => parts.join(""));
    fc.assert(
      fc.property(
        heap,
        fc.constantFrom("stop", "length"),
        fc.array(fc.nat(9), { maxLength: 40 }),
        (input, end, sizes) => {
          const one: Case = { name: "", plan, end, input, expected: [] };
          const whole = outcome(one, [input]);
          expect(outcome(one, input.split(""))).toEqual(whole);
          const cut: string[] = [];
          let at = 0;
          for (const size of sizes) {
            cut.push(input.slice(at, at + size));
            at += size;
          }
          expect(outcome(one, [...cut, input.slice(at)])).toEqual(whole);
          const isSilent = !whole.some((line) => !line.startsWith("text "));
          const kept = input === "" ? [] : [`text ${JSON.stringify(input)}`];
          expect(whole).toEqual(isSilent ? kept : whole); // text that is no call is never lost
        },
      ),
      { numRuns: 500 },
    );
  });
});
