import type { PromptForm } from "../../../backends/backend.ts";
import { isObject } from "../../../base/json.ts";
import type { ResponseFormat, Tool, TurnRequest } from "../../../log/request.ts";
import { judged, type Observation } from "./assumption.ts";

/** A call as a client of the gateway would get it. */
export interface CallObservation {
  readonly name: string;
  readonly arguments: string;
}

/** One small question whose answer can be judged without an opinion. */
export interface PromptCase {
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
    request: request("Answer with this one word and nothing else: marzipan"),
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
    request: { ...request("What is the weather in Lisbon now? Use the tool."), tools: [weather] },
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
      ...request("Give the capital of France, and how many letters its name has."),
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

function request(question: string): TurnRequest {
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
