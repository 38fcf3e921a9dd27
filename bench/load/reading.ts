import { estimateTokens } from "../../src/base/token-estimate.ts";
import type { EventStage } from "../../src/turns/event-stage.ts";
import { limitOutput } from "../../src/turns/limit-output.ts";
import { bash, fakeRequest, readFile, user } from "../../src/turns/prompt/request.fake.ts";
import { planAnswer } from "../../src/turns/tools/answer-plan.ts";
import { markOf } from "../../src/turns/tools/grammar.ts";
import { PlannedAnswer } from "../../src/turns/tools/planned-answer.ts";

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
export const mostGrowth = 2.5;

/** A poll may bring a whole answer. */
const inOne = Number.POSITIVE_INFINITY;
const mixed = 8;

/** The processor time that a KB takes in a long answer beside a short one, for each text that such answers are made of; the largest first. */
export function readingGrowth(): readonly { readonly name: string; readonly times: number }[] {
  const alone = pieces.map((unit) => ({ unit, deltaLength: 50 }));
  const whole = ["<bash>", "```\n", "<div><tool>a</tool></div>"].map((unit) => ({ unit, deltaLength: inOne }));
  const some = <T>(from: readonly T[]) => from[Math.floor(Math.random() * from.length)] as T; // it is not empty
  const patterns = Array.from({ length: mixed }, () => ({
    unit: Array.from({ length: 1 + Math.floor(Math.random() * 6) }, () => some(pieces)).join(""),
    deltaLength: some([7, 50, 4_096, inOne]),
  }));
  const read = [...alone, ...whole, ...patterns].map(({ unit, deltaLength }) => ({
    name: `${JSON.stringify(unit)} in deltas of ${deltaLength}`,
    times: growth(unit, deltaLength, () => planned()),
  }));
  const limited = limits.map(({ unit, stop, most = Infinity }) => ({
    name: `${JSON.stringify(unit)} with ${stop.length} stop sequences, up to ${most} of its tokens`,
    times: growth(unit, 20, (length) =>
      limitOutput({ stop, maxOutputTokens: Math.ceil((length / 3.8) * most), countTokens: estimateTokens }),
    ),
  }));
  return [...read, ...limited].toSorted((a, b) => b.times - a.times);
}

/** The limits of an answer: tokens, far from the answer's end or at it, and sequences that nearly come. */
const limits: readonly { unit: string; stop: readonly string[]; most?: number }[] = [
  { unit: "some words of an ", stop: [], most: 10 },
  { unit: "some words of an ", stop: [], most: 1 },
  { unit: "Some words.\n\nHum", stop: ["\n\nHuman:", "\n\nAssistant:"], most: 10 },
  { unit: "a", stop: [`${"a".repeat(1_000)}b`] },
];

const finished = (text: string) => ({ type: "finished", reason: { unified: "stop", raw: undefined }, text }) as const;

/** Makes the stage that reads an answer of this length. */
type Stage = (length: number) => EventStage | undefined;

function planned(): EventStage {
  if (plan === undefined) throw new Error("the plan offers tools");
  return new PlannedAnswer(plan, { mayAskAgain: true });
}

function read(text: string, deltaLength: number, stage: Stage): number {
  const answer = stage(text.length);
  if (answer === undefined) throw new Error("nothing is limited");
  const started = process.cpuUsage();
  for (let at = 0; at < text.length; at += deltaLength)
    answer.push({ type: "text", delta: text.slice(at, at + deltaLength) });
  answer.push(finished(text));
  return process.cpuUsage(started).user;
}

/** The processor time a KB of a long answer takes beside that of a short one; the least of several tries, since other work only adds. */
function growth(unit: string, deltaLength: number, stage: Stage): number {
  const text = unit.repeat(Math.ceil((smallSize * factor) / unit.length));
  const floor = 5_000; // microseconds: below it the clock is too coarse
  let [small, large] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (let tries = 0; tries < 10; tries++) {
    small = Math.min(small, Math.max(floor, read(text.slice(0, smallSize), deltaLength, stage)));
    large = Math.min(large, read(text.slice(0, smallSize * factor), deltaLength, stage));
    if (large < small * factor * mostGrowth) break;
  }
  return large / (small * factor);
}
