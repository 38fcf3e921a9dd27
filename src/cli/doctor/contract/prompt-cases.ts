import { randomUUID } from "node:crypto";
import type { AcpStyle } from "../../../backends/acp/known/agent-spec.ts";
import { type Backend, eventsOf, type PromptForm } from "../../../backends/backend.ts";
import { deadline } from "../../../base/async.ts";
import type { Clock } from "../../../base/clock.ts";
import type { ModelUid } from "../../../base/ids.ts";
import { isObject } from "../../../base/json.ts";
import type { TurnEventBody, Usage } from "../../../log/event.ts";
import type { ResponseFormat, Tool, TurnRequest } from "../../../log/request.ts";
import { layoutPrompt } from "../../../turns/prompt/layout.ts";
import { planAnswer } from "../../../turns/tools/answer-plan.ts";
import { PlannedAnswer } from "../../../turns/tools/planned-answer.ts";
import { differs, judged, type Observation, type StyleResult, unknown } from "./report.ts";

/** A call as a client of the gateway would get it. */
interface CallObservation {
  readonly name: string;
  readonly arguments: string;
}

/** One small question whose answer can be judged without an opinion. */
interface PromptCase {
  readonly form: PromptForm;
  /** "a plain answer", for people. */
  readonly what: string;
  readonly request: TurnRequest;
  judge(text: string, calls: readonly CallObservation[]): Observation;
}

const weather: Tool = {
  name: "get_weather",
  description: "Tells the weather of a city.",
  kind: "function",
  parameters: {
    type: "object",
    properties: { city: { type: "string" } },
    required: ["city"],
    additionalProperties: false,
  },
};

const capital: ResponseFormat = {
  type: "json_schema",
  name: "capital",
  schema: {
    type: "object",
    properties: { capital: { type: "string" }, letters: { type: "integer" } },
    required: ["capital", "letters"],
    additionalProperties: false,
  },
  strict: true,
};

/** The prompts of `--spend`, each sent once in every way of asking. */
export const promptCases: readonly PromptCase[] = [
  {
    form: "text",
    what: "a plain answer",
    request: askedFor("Answer with this one word and nothing else: marzipan"),
    judge(text) {
      const word = text
        .trim()
        .replace(/[.!"'*`]+$|^["'*`]+/g, "")
        .toLowerCase();
      return judged(word === "marzipan", word === "marzipan" ? "the word alone" : `${text.length} other characters`);
    },
  },
  {
    form: "tools",
    what: "a tool call",
    request: { ...askedFor("What is the weather in Lisbon now? Use the tool."), tools: [weather] },
    judge(_, calls) {
      const [call, ...others] = calls;
      if (call === undefined) return judged(false, "no call that can be read");
      const city = membersOf(call.arguments)["city"];
      const fits = call.name === weather.name && typeof city === "string" && /lisbo/i.test(city);
      return judged(
        fits && others.length === 0,
        fits ? `${calls.length} call of the tool` : "a call of something else",
      );
    },
  },
  {
    form: "json",
    what: "JSON by a schema",
    request: {
      ...askedFor("Give the capital of France, and how many letters its name has."),
      responseFormat: capital,
    },
    judge(text) {
      const { capital: name, letters, ...more } = membersOf(text);
      const fits = typeof name === "string" && Number.isInteger(letters) && Object.keys(more).length === 0;
      if (!fits) return judged(false, "no JSON that fits");
      const right = name === "Paris" && letters === 5;
      return judged(right, right ? "JSON that fits" : "JSON that fits, with a wrong answer");
    },
  },
];

/** A request with this question alone. */
export function askedFor(question: string): TurnRequest {
  return {
    model: "default",
    messages: [{ role: "user", parts: [{ type: "text", text: question }] }],
    tools: [],
    toolChoice: { type: "auto" },
    parallelToolCalls: false,
    responseFormat: { type: "text" },
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

/** One way to send the prompts: a style of the agent, or Cascade. */
export interface AskedWay {
  readonly style: AcpStyle | "cascade";
  readonly backend: Backend;
  /** Undefined: the agent's own choice. */
  readonly model: string | undefined;
}

/** How many prompts a comparison sends. */
export const promptCount = (ways: readonly AskedWay[]): number => promptCases.length * ways.length;

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
