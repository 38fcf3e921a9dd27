import { randomUUID } from "node:crypto";
import type { AcpAgent } from "../../../backends/acp/agent.ts";
import type { AcpStyle } from "../../../backends/acp/known/agent-spec.ts";
import { type Backend, eventsOf, type Prompt, type PromptForm } from "../../../backends/backend.ts";
import { bestEffort, deadline } from "../../../base/async.ts";
import type { Clock } from "../../../base/clock.ts";
import type { CascadeId, ModelUid } from "../../../base/ids.ts";
import { isObject } from "../../../base/json.ts";
import type { TurnEventBody, Usage } from "../../../log/event.ts";
import type { TurnRequest } from "../../../log/request.ts";
import { layoutPrompt } from "../../../turns/prompt/layout.ts";
import { planAnswer } from "../../../turns/tools/answer-plan.ts";
import { PlannedAnswer } from "../../../turns/tools/planned-answer.ts";
import { type Fact, type Facts, judged, type Observation, type StyleResult, unknown } from "./report.ts";

/** One small question of `--spend`, and what its answer must have: a row of docs/dev/wire/contract.json. */
export interface PromptCase {
  readonly form: PromptForm;
  readonly question: string;
  readonly tool?: { readonly name: string; readonly description: string; readonly parameters: object };
  readonly schema?: object;
  /** The answer is this word alone. */
  readonly word?: string;
  /** The one call has such texts among its arguments. */
  readonly argument?: Readonly<Record<string, string>>;
  /** The answer is JSON of exactly these members. */
  readonly members?: Readonly<Record<string, unknown>>;
}

/** One way to send the prompts: a style of the agent, or Cascade. */
export interface AskedWay {
  readonly style: AcpStyle | "cascade";
  readonly backend: Backend;
  /** Undefined: the agent's own choice. */
  readonly model: string | undefined;
}

/** The calls of an answer: the texts of their arguments, by tool. */
type Calls = readonly { readonly name: string; readonly arguments: string }[];

const promptLimitMs = 180_000;
const tooSlow = "it did not answer in time";

/** Sends a question once, and compares the answer. Throws only the signal's reason. */
export async function askOnce(way: AskedWay, one: PromptCase, clock: Clock, signal: AbortSignal): Promise<StyleResult> {
  const seed = randomUUID();
  const request = requestOf(one);
  const { prompt } = layoutPrompt(
    request,
    { uid: uidOf(way.model), number: undefined, contextTokens: undefined },
    { seed },
  );
  const plan = planAnswer(request, seed);
  const answer = plan === undefined ? undefined : new PlannedAnswer(plan, { mayAskAgain: false });
  const stop = new AbortController();
  const limited = AbortSignal.any([signal, stop.signal]);
  deadline(signal, promptLimitMs).addEventListener("abort", () => stop.abort("cancel"), { once: true });
  let sentAt = clock.monotonic();
  let [firstAt, endAt]: (number | undefined)[] = [];
  let usage: Usage | undefined;
  let problem = tooSlow;
  let text = "";
  let used: readonly string[] = [];
  const calls = new Map<string, Calls[number]>();
  const take = (event: TurnEventBody) => {
    if (event.type === "text") text += event.delta;
    else if (event.type === "rewritten") text = event.text;
    else if (event.type === "tool_call") {
      const before = calls.get(event.callId)?.arguments ?? "";
      calls.set(event.callId, { name: event.name, arguments: before + event.argumentsDelta });
    }
  };
  for await (const event of eventsOf(way.backend.run(prompt, { keep: false, onAlive: () => {} }, limited))) {
    if (event.type === "started") sentAt = clock.monotonic(); // asking for what comes next sends the prompt
    if (event.type === "text") firstAt ??= clock.monotonic();
    if (event.type === "usage" && !event.estimated) usage = event;
    if (event.type === "failed") problem = event.error.message;
    if (event.type === "cancelled") problem = "it was stopped";
    if (event.type === "finished") {
      endAt = clock.monotonic();
      used = event.ideTools ?? [];
    }
    const shown = answer === undefined ? [event] : answer.push(event);
    for (const read of shown) take(read);
    if (event.type === "finished" && shown.includes(event)) text = event.text;
  }
  signal.throwIfAborted();
  const observed = endAt === undefined ? unknown(problem) : judgeAnswer(one, text, [...calls.values()]);
  const since = (at: number | undefined) => (at === undefined ? null : Math.round(at - sentAt));
  return {
    style: way.style,
    form: one.form,
    ...(used.length === 0 ? observed : judged(false, `${observed.seen}; it used ${used.join(", ")}`)), // no prompt asks for tools of the IDE
    first_text_ms: since(firstAt),
    whole_ms: since(endAt),
    prompt_tokens: usage?.promptTokens ?? null,
    completion_tokens: usage?.completionTokens ?? null,
  };
}

/** Whether an answer has what its case demands. */
export function judgeAnswer(
  { word, tool, argument = {}, members = {} }: PromptCase,
  text: string,
  calls: Calls,
): Observation {
  if (word !== undefined) {
    const isWord =
      text
        .trim()
        .replace(/[.!"'*`]+$|^["'*`]+/g, "")
        .toLowerCase() === word;
    return judged(isWord, isWord ? "the word alone" : `${text.length} other characters`);
  }
  if (tool !== undefined) {
    const [call, ...others] = calls;
    if (call === undefined) return judged(false, "no call that can be read");
    const given = membersOf(call.arguments);
    const fits =
      call.name === tool.name &&
      Object.entries(argument).every(([name, part]) => String(given[name]).toLowerCase().includes(part));
    return judged(fits && others.length === 0, fits ? `${calls.length} call of the tool` : "a call of something else");
  }
  const given = membersOf(text);
  const names = Object.keys({ ...given, ...members });
  if (!names.every((name) => typeof given[name] === typeof members[name])) return judged(false, "no JSON that fits");
  const isRight = names.every((name) => given[name] === members[name]);
  return judged(isRight, isRight ? "JSON that fits" : "JSON that fits, with a wrong answer");
}

/** A request with this question alone. */
function requestOf({ question, tool, schema }: Pick<PromptCase, "question" | "tool" | "schema">): TurnRequest {
  return {
    model: "default",
    messages: [{ role: "user", parts: [{ type: "text", text: question }] }],
    tools: tool === undefined ? [] : [{ kind: "function", ...tool, parameters: { ...tool.parameters } }],
    toolChoice: { type: "auto" },
    parallelToolCalls: false,
    responseFormat:
      schema === undefined
        ? { type: "text" }
        : { type: "json_schema", name: "answer", schema: { ...schema }, strict: true },
    stop: [],
  };
}

function membersOf(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}

const uidOf = (model: string | undefined) => (model ?? "default") as ModelUid; // "default" is the agent's own choice

/** How long the last call of the loop waits: agents end a call without a sign of life after 30 to 60 s; ms. */
export const heldMs = 65_000;

const wantedCalls = 5;
/** A model that does not stop is stopped here. */
const mostCalls = 10;
const loopLimitMs = 300_000;

/**
 * Asks an agent for a loop of five calls, with one prompt at most, and keeps the last call waiting. What it did with the tool of its client.
 * Throws only the signal's reason.
 */
export async function useTools(
  agent: Pick<AcpAgent, "stats">,
  loop: Pick<PromptCase, "question" | "tool">,
  { backend, model, clock }: { readonly backend: Backend; readonly model: string | undefined; readonly clock: Clock },
  signal: AbortSignal,
): Promise<Facts> {
  const { prompt } = layoutPrompt(requestOf(loop), { uid: uidOf(model), number: undefined, contextTokens: undefined });
  const limited = deadline(signal, loopLimitMs);
  const own = new Set<string>();
  let asked: Prompt = prompt;
  let cascadeId: CascadeId | undefined;
  let [calls, listed] = [0, false];
  let held: boolean | undefined;
  let failed: string | undefined;
  for (let goesOn = true; goesOn; ) {
    const given: string[] = [];
    goesOn = false;
    let begun = false;
    for await (const event of eventsOf(backend.run(asked, { keep: true, onAlive: () => {} }, limited))) {
      if (event.type === "started") {
        begun = true;
        cascadeId = event.cascadeId;
        listed = event.tools === "native";
        if (!listed) break; // before its prompt is sent
      }
      if (event.type === "tool_call") given.push(event.callId);
      if (event.type === "failed") failed = event.error.message;
      if (event.type === "finished" || event.type === "failed") for (const kind of event.ideTools ?? []) own.add(kind);
    }
    signal.throwIfAborted();
    if (calls >= wantedCalls) held ??= begun;
    calls += given.length;
    const { native } = prompt;
    if (native === undefined || cascadeId === undefined || given.length === 0 || calls > mostCalls) continue;
    if (calls >= wantedCalls && held === undefined) await clock.sleep(heldMs, limited);
    const results = given.map((callId, n) => {
      const text = `The next number is ${calls - given.length + n + 2}.`;
      return { callId, content: [{ type: "text", text } as const], isError: false };
    });
    asked = { ...prompt, continues: cascadeId, native: { ...native, results } };
    goesOn = true;
  }
  const { prompts, processes } = await agent.stats();
  const permissions = processes.reduce((sum, process) => sum + process.permissions, 0);
  if (cascadeId !== undefined) await bestEffort(backend.archive(cascadeId, limited));
  const problem = limited.aborted ? tooSlow : failed;
  const orWhy = (isSeen: boolean, fact: Fact, why: string): Fact => (isSeen ? fact : { why: problem ?? why });
  return {
    "agent.tools": orWhy(
      listed || problem === undefined,
      { value: listed, seen: listed ? "asked for the tools" : "did not ask for them" },
      "",
    ),
    "agent.tools-own": orWhy(
      calls > 0 || own.size > 0,
      {
        value: own.size === 0 && calls > 0,
        seen: [`${calls} calls`, ...[...own].map((kind) => `its own ${kind}`)].join(", "),
      },
      "it used no tool",
    ),
    "agent.tools-permission": orWhy(
      calls > 0 || permissions > 0,
      { value: permissions, seen: `asked ${permissions} times` },
      "it made no call",
    ),
    "agent.tools-held": orWhy(
      held !== undefined,
      { value: held, seen: held ? `waited for ${heldMs / 1_000} s` : "gave up the call" },
      "it made fewer calls than it was asked for",
    ),
    "agent.tools-loop": orWhy(
      calls >= wantedCalls && problem === undefined,
      { value: prompts, seen: `${calls} calls, ${prompts} prompts` },
      `it made ${calls} calls`,
    ),
  };
}
