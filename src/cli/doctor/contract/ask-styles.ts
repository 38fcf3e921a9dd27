import { randomUUID } from "node:crypto";
import type { AcpStyle } from "../../../backends/acp/process/agent-spec.ts";
import type { Backend } from "../../../backends/backend.ts";
import { eventsOf } from "../../../backends/batches.ts";
import { deadline } from "../../../base/async.ts";
import type { Clock } from "../../../base/clock.ts";
import type { ModelUid } from "../../../base/ids.ts";
import type { TurnEventBody, Usage } from "../../../log/event.ts";
import { layoutPrompt } from "../../../turns/prompt/layout.ts";
import { planAnswer } from "../../../turns/tools/answer-plan.ts";
import { PlannedAnswer } from "../../../turns/tools/planned-answer.ts";
import { type AssumptionVerdict, differs, type Observation, unknown } from "./assumption.ts";
import { type CallObservation, type PromptCase, promptCases } from "./prompt-cases.ts";

/** One way to send the prompts: a style of the agent, or Cascade. */
export interface AskedWay {
  readonly style: AcpStyle | "cascade";
  readonly backend: Backend;
  /** Undefined: the agent's own choice. */
  readonly model: string | undefined;
}

/** How many prompts a comparison sends. */
export const promptCount = (ways: readonly AskedWay[]): number => promptCases.length * ways.length;

/** The results of one prompt. Times in ms since it was sent. */
export interface StyleResult {
  readonly style: AskedWay["style"];
  readonly form: PromptCase["form"];
  readonly verdict: AssumptionVerdict;
  readonly seen: string;
  readonly first_text_ms: number | null;
  readonly whole_ms: number | null;
  readonly prompt_tokens: number | null;
  readonly completion_tokens: number | null;
}

const promptLimitMs = 180_000;

/** Sends every case in every way, one after the other, each at most once. Throws only the signal's reason. */
export async function askStyles(
  ways: readonly AskedWay[],
  clock: Clock,
  signal: AbortSignal,
): Promise<readonly StyleResult[]> {
  const results: StyleResult[] = [];
  for (const way of ways) {
    for (const one of promptCases) results.push(await askOnce(way, one, clock, signal));
  }
  return results;
}

async function askOnce(
  { style, backend, model }: AskedWay,
  one: PromptCase,
  clock: Clock,
  signal: AbortSignal,
): Promise<StyleResult> {
  const seed = randomUUID();
  const uid = (model ?? "default") as ModelUid; // "default" is the agent's own choice
  const { prompt } = layoutPrompt(one.request, { uid, number: undefined, contextTokens: undefined }, { seed });
  const plan = planAnswer(one.request, seed);
  const answer = plan === undefined ? undefined : new PlannedAnswer(plan, { mayAskAgain: false });
  const told = new ProbeAnswer();
  const stop = new AbortController();
  const limited = AbortSignal.any([signal, stop.signal]);
  const limit = deadline(signal, promptLimitMs);
  limit.addEventListener("abort", () => stop.abort("cancel"), { once: true });
  let sentAt = clock.monotonic();
  let firstAt: number | undefined;
  for await (const event of eventsOf(backend.run(prompt, { keep: false, onAlive: () => {} }, limited))) {
    if (event.type === "started") sentAt = clock.monotonic(); // asking for what comes next sends the prompt
    if (event.type === "text") firstAt ??= clock.monotonic();
    told.note(event, answer === undefined ? [event] : answer.push(event));
  }
  signal.throwIfAborted();
  const since = (at: number | undefined) => (at === undefined ? null : Math.round(at - sentAt));
  return {
    style,
    form: one.form,
    ...told.judge(one),
    first_text_ms: since(firstAt),
    whole_ms: told.finished ? since(clock.monotonic()) : null,
    prompt_tokens: told.usage?.promptTokens ?? null,
    completion_tokens: told.usage?.completionTokens ?? null,
  };
}

/** Collects the answer that a reader of the turn would hold. */
class ProbeAnswer {
  usage: Usage | undefined;
  finished = false;
  #problem: string | undefined = "it did not answer in time";
  #text = "";
  readonly #calls = new Map<string, CallObservation>();
  #read: readonly string[] = [];

  note(raw: TurnEventBody, read: readonly TurnEventBody[]): void {
    if (raw.type === "usage" && !raw.estimated) this.usage = raw;
    if (raw.type === "failed") this.#problem = raw.error.message;
    if (raw.type === "cancelled") this.#problem = "it was stopped";
    if (raw.type === "finished") {
      this.finished = true;
      this.#read = raw.ideTools ?? [];
    }
    for (const event of read) {
      if (event.type === "text") this.#text += event.delta;
      if (event.type === "rewritten") this.#text = event.text;
      if (event.type === "tool_call") this.#addCall(event);
    }
    if (raw.type === "finished" && read.includes(raw)) this.#text = raw.text;
  }

  judge(one: PromptCase): Observation {
    if (!this.finished) return unknown(this.#problem ?? "");
    const seen = one.judge(this.#text, [...this.#calls.values()]);
    if (this.#read.length === 0) return seen;
    return differs(`${seen.seen}; it used ${this.#read.join(", ")}`); // the prompt asks for no tools of the IDE
  }

  #addCall({ callId, name, argumentsDelta }: Extract<TurnEventBody, { readonly type: "tool_call" }>): void {
    const before = this.#calls.get(callId)?.arguments ?? "";
    this.#calls.set(callId, { name, arguments: before + argumentsDelta });
  }
}
