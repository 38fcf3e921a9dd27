import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Backend, type Batch, mergeDeltas, type Prompt } from "../backends/backend.ts";
import { FakeClock } from "../base/clock.fake.ts";
import type { CascadeId, ModelUid, TurnId } from "../base/ids.ts";
import type { TurnEventBody } from "../log/event.ts";
import type { TurnRequest } from "../log/request.ts";
import type { LogWriter } from "../log/store.ts";
import { stateAfter } from "./decide.ts";
import type { EventStage } from "./event-stage.ts";
import { exchange } from "./exchange.ts";
import { limitOutput } from "./limit-output.ts";
import { bash, fakeRequest } from "./prompt/request.fake.ts";
import { loggedAnswer, reconcile } from "./reconcile.ts";
import { Runner } from "./run.ts";
import { planAnswer } from "./tools/answer-plan.ts";

const cascadeId = "c" as CascadeId; // any text will do
const started: TurnEventBody = { type: "started", modelUid: "m" as ModelUid, backend: "cascade", cascadeId };
const usage: TurnEventBody = {
  type: "usage",
  promptTokens: 9,
  completionTokens: 3,
  thinkingTokens: 1,
  estimated: false,
};
const countTokens = (text: string) => Math.ceil(text.length / 4);

/** The upstream's whole answer, before the test cuts it into deltas and batches. */
interface Said {
  readonly thinking: string;
  readonly text: string;
}

/** Where deltas and batches are cut; any numbers will do. */
interface Cuts {
  readonly deltas: readonly number[];
  readonly batches: readonly number[];
}

function batchesOf({ thinking, text }: Said, { deltas, batches }: Cuts): readonly Batch[] {
  const finished: TurnEventBody = { type: "finished", reason: { unified: "stop", raw: "END" }, text };
  const events = [
    ...pieces(thinking, deltas).map((delta): TurnEventBody => ({ type: "thinking", delta })),
    ...pieces(text, deltas).map((delta): TurnEventBody => ({ type: "text", delta })),
    usage,
    finished,
  ];
  return slices(events, batches).filter((batch) => batch.length > 0);
}

function pieces(text: string, cuts: readonly number[]): readonly string[] {
  return slices(Array.from(text), cuts).map((characters) => characters.join(""));
}

function slices<T>(all: readonly T[], cuts: readonly number[]): readonly (readonly T[])[] {
  const places = [...new Set(cuts.map((cut) => cut % (all.length + 1)))].sort((a, b) => a - b);
  return [0, ...places].map((from, i) => all.slice(from, places[i] ?? all.length));
}

/** The log of one turn after its backend gave these answers; `held` is the earlier content of the log. */
async function logOf(
  request: TurnRequest,
  answers: readonly (readonly Batch[])[],
  held: readonly TurnEventBody[] = [],
): Promise<readonly TurnEventBody[]> {
  const log = [...held];
  const left = [...answers];
  const writer: LogWriter = {
    turnId: "turn_1" as TurnId,
    epoch: 1,
    append: async (bodies) => {
      log.push(...bodies);
      return "appended";
    },
  };
  const backend: Backend = {
    kind: "cascade",
    async *run() {
      yield [started];
      yield* left.shift() ?? [];
    },
    async *resume() {
      yield* left.shift() ?? [];
    },
    archive: async () => {},
  };
  const limit = limitOutput({ stop: request.stop, maxOutputTokens: request.maxOutputTokens, countTokens });
  const stages: EventStage[] = [
    ...(limit === undefined ? [] : [limit]),
    ...(held.length > 0 ? [reconcile(loggedAnswer(held))] : []),
  ];
  const asking = exchange({
    backend,
    prompt: { messages: [] as Prompt["messages"], text: "" } as Prompt, // nothing else of it is used
    run: { keep: false, onAlive: () => {} },
    plan: planAnswer(request, "seed"),
    ...(held.length > 0 ? { from: { cascadeId } } : {}),
  });
  const clock = new FakeClock();
  await new Runner({
    writer,
    state: stateAfter(held),
    open: async () => asking,
    enter: async () => () => {},
    stages,
    clock,
  }).run();
  return log;
}

const call = '<tool_call name="bash">\n{"command":"ls -la"}\n</tool_call>';
const badCall = '<tool_call name="bash">\n{"timeoutMs":1}\n</tool_call>';

const cut = fc.record({
  deltas: fc.array(fc.nat(), { maxLength: 8 }),
  batches: fc.array(fc.nat(), { maxLength: 6 }),
});
const text = fc
  .array(fc.constantFrom("Hello ", "END", "EN", "<tool_", "a\n", call, badCall, "😀", '{"a":1}'), { maxLength: 5 })
  .map((parts) => parts.join(""));
const said = fc.record({ thinking: fc.constantFrom("", "hm", "well, well"), text });
const request = fc.constantFrom(
  fakeRequest({}),
  fakeRequest({ stop: ["END"] }),
  fakeRequest({ maxOutputTokens: 3 }),
  fakeRequest({ tools: [bash] }),
  fakeRequest({ tools: [bash], stop: ["END"] }),
  fakeRequest({ responseFormat: { type: "json_object" } }),
);

describe("the stages of a turn", () => {
  test("give the same log for the same answers, however these are cut into deltas and batches", async () => {
    await fc.assert(
      fc.asyncProperty(request, said, said, cut, cut, async (asked, first, second, one, other) => {
        const [a, b] = await Promise.all(
          [one, other].map((cuts) => logOf(asked, [batchesOf(first, cuts), batchesOf(second, cuts)])),
        );
        expect(mergeDeltas(a ?? [])).toEqual(mergeDeltas(b ?? []));
      }),
      { numRuns: 300 },
    );
  });

  test("add to a log that was cut off what it lacks, however the answer is cut when it is read again", async () => {
    await fc.assert(
      fc.asyncProperty(request, said, cut, cut, fc.nat(), async (asked, whole, one, other, place) => {
        const log = await logOf(asked, [batchesOf(whole, one), []]);
        const kept = log.slice(0, 1 + (place % Math.max(1, log.length - 1)));
        const isAskedAgain = !log.some(({ type }) => type === "finished"); // a turn that was taken over asks nothing again
        fc.pre(!isAskedAgain);
        const again = await logOf(asked, [batchesOf(whole, other)], kept);
        expect({ ...loggedAnswer(again), usage: undefined }).toEqual({ ...loggedAnswer(log), usage: undefined });
        expect(again.at(-1)).toEqual(log.at(-1));
        expect(again.filter(({ type }) => type === "usage")).toHaveLength(
          log.filter(({ type }) => type === "usage").length,
        );
      }),
      { numRuns: 300 },
    );
  });
});
