import { isTerminal, type TurnEventBody } from "../../log/event.ts";
import type { TurnRequest } from "../../log/request.ts";
import { exchange } from "../exchange.ts";
import { layoutPrompt } from "../prompt/layout.ts";
import { applyPatch, bash, fakeModel, fakeRequest, readFile } from "../prompt/request.fake.ts";
import { planAnswer } from "./answer-plan.ts";
import { markOf, writeCall } from "./grammar.ts";
import { type ScriptedBackend, scriptedCascade } from "./scripted-backend.fake.ts";

const seed = "seed";
const mark = markOf({ messages: [] }, seed);
export const call = (body: string, name = "bash") => writeCall(mark, name, body);
export const good = call('{"command":"ls"}');
export const bad = call('{"timeoutMs":5}');
/** Arguments that no client could read. */
export const unusable = call("[1]");
const signal = new AbortController().signal;

interface AnswerRecord {
  readonly events: readonly TurnEventBody[];
  readonly last: TurnEventBody;
  readonly text: string;
  readonly calls: readonly {
    readonly callId: string;
    readonly name: string;
    readonly arguments: string;
    readonly done: boolean;
  }[];
  /** How often the model was asked. */
  readonly asked: number;
}

/** Runs a request against scripted answers and adds up the events for a reader of the log. */
export async function told(
  backend: ScriptedBackend,
  fields: Partial<TurnRequest>,
  options: { readonly keep?: boolean; readonly resume?: boolean; readonly onEvent?: () => void } = {},
): Promise<AnswerRecord> {
  const request = fakeRequest({ tools: [bash, readFile, applyPatch], ...fields });
  const plan = planAnswer(request, seed);
  if (plan === undefined) throw new Error("nothing to read in this answer");
  const { prompt } = layoutPrompt(request, fakeModel, { seed });
  const runOptions = { keep: options.keep ?? false, onAlive: () => {} };
  const from = { cascadeId: scriptedCascade, text: "the text in the log", thinking: "" };
  const asking = exchange({
    backend,
    prompt,
    run: runOptions,
    plan,
    ...(options.resume === true ? { from } : {}),
  });
  const events: TurnEventBody[] = [];
  let text = "";
  const calls = new Map<string, { callId: string; name: string; arguments: string; done: boolean }>();
  const take = (event: TurnEventBody) => {
    events.push(event);
    options.onEvent?.();
    if (event.type === "text") text += event.delta;
    if (event.type === "rewritten") ({ text } = event);
    if (event.type !== "tool_call") return;
    const known = calls.get(event.callId) ?? { callId: event.callId, name: event.name, arguments: "", done: false };
    known.arguments += event.argumentsDelta;
    known.done = event.done;
    calls.set(event.callId, known);
  };
  await asking(async (batch) => {
    for (const event of batch) take(event);
    return batch.some(isTerminal) ? "ended" : "goes_on";
  }, signal);
  const last = events.at(-1);
  if (last === undefined) throw new Error("no event");
  return { events, last, text, calls: [...calls.values()], asked: backend.prompts.length };
}
