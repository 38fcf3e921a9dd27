import { readDirectives } from "../faults/directives.ts";
import {
  type Action,
  type AgentScript,
  fitted,
  inlineScript,
  namedScript,
  pickTool,
  type SpoilKind,
} from "./agent-script.ts";
import { conversationOf, type SeenMessage, toolResultsIn } from "./conversation.ts";
import { instanceOf } from "./instance.ts";
import type { ModelDelta, ModelPrompt } from "./model.ts";
import type { Offer } from "./offered.ts";

/**
 * Plays an agent that was given tools. It follows the script that the conversation or the plan names, one answer a model call, and
 * counts its place by the tool results that it has seen. When it is asked again without a result, it corrects its spoilt call.
 * Undefined when an agent has nothing to do.
 */
export function agentAnswer(prompt: ModelPrompt, offer: Offer): ModelDelta[] | undefined {
  if (offer.tools.length === 0) return undefined;
  const seen = [
    ...prompt.history.flatMap((message) =>
      message.role === "user" ? conversationOf(message.text) : [{ ...message, toolResult: false }],
    ),
    ...conversationOf(prompt.text),
  ];
  const found = findScript(seen, prompt);
  if (found === undefined) return demanded(offer, seen);
  const { script, place, retries } = whereIn(fitted(found.script, offer), seen.slice(found.at + 1));
  const answer = script[place];
  const onlyText = answer === undefined || answer.every((action) => action.kind !== "call");
  if (answer === undefined || (onlyText && retries > 0)) return undefined; // the script is over: a plain question
  return perform(answer, {
    offer,
    results: seen.flatMap(toolResultsIn),
    retries,
    callsBefore: callsBefore(script, place),
  });
}

/** A person's word that what stands before it in the conversation counts no more. */
const reset = /\[\[sim:[^\]]*\breset\b/;

/** The last script that a person put into the conversation since a `reset`, else the plan's. */
function findScript(
  seen: readonly SeenMessage[],
  prompt: ModelPrompt,
): { readonly script: AgentScript; readonly at: number } | undefined {
  for (let at = seen.length - 1; at >= 0; at--) {
    const message = seen[at];
    if (message === undefined || message.role === "assistant" || message.toolResult) continue;
    const name = readDirectives(message.text).plan.agent;
    const script = inlineScript(message.text) ?? (name === undefined ? undefined : namedScript(name));
    if (script !== undefined) return { script, at };
    if (reset.test(message.text)) break;
  }
  const script = prompt.plan.agent === undefined ? undefined : namedScript(prompt.plan.agent);
  return script === undefined ? undefined : { script, at: seen.findIndex((message) => !message.toolResult) };
}

/** Which answer of the script is due after these messages, and how often it was asked for again. */
function whereIn(script: AgentScript, after: readonly SeenMessage[]) {
  let place = 0;
  let retries = 0;
  after.forEach((message, i) => {
    if (message.role !== "assistant") return;
    const next = after[i + 1];
    if (next !== undefined && (next.toolResult || toolResultsIn(next).length > 0)) {
      place++;
      retries = 0;
    } else {
      retries++;
    }
  });
  return { script, place, retries };
}

function callsBefore(script: AgentScript, place: number): number {
  return script
    .slice(0, place)
    .flat()
    .filter((action) => action.kind === "call").length;
}

/** A call that the offer demands without a script; none once there is a result. */
function demanded(offer: Offer, seen: readonly SeenMessage[]): ModelDelta[] | undefined {
  const lastIsResult = seen.at(-1)?.toolResult === true;
  if (offer.mustCall === false || lastIsResult) return undefined;
  const action: Action = { kind: "call", tool: "*", body: undefined, spoiling: undefined, stubborn: false };
  return perform([action], { offer, results: [], retries: 0, callsBefore: 0 });
}

interface Performance {
  readonly offer: Offer;
  readonly results: readonly string[];
  readonly retries: number;
  readonly callsBefore: number;
}

function perform(answer: readonly Action[], performance: Performance): ModelDelta[] {
  const thoughts: ModelDelta[] = [];
  const pieces: string[] = [];
  let nth = performance.callsBefore;
  for (const action of answer) {
    if (action.kind === "think") thoughts.push({ kind: "thinking", text: action.text });
    else if (action.kind === "say") pieces.push(action.text.replaceAll("{results}", performance.results.join(" | ")));
    else pieces.push(writeCall(action, performance, ++nth));
  }
  const text = pieces.join("\n\n");
  return text === "" ? thoughts : [...thoughts, { kind: "text", text }];
}

type CallAction = Extract<Action, { kind: "call" }>;

function writeCall(action: CallAction, { offer, retries }: Performance, nth: number): string {
  const tool = pickTool(action.tool, offer);
  const { name = action.tool } = tool ?? {};
  const body = action.body ?? argumentsFor(tool?.schema, nth);
  const spoiling = retries === 0 || action.stubborn ? action.spoiling : undefined;
  const block = (called: string, text: string) => `<${offer.callTag} name="${called}">\n${text}\n</${offer.callTag}>`;
  return spoiling === undefined ? block(name, body) : spoil(spoiling, { tag: offer.callTag, name, body, block });
}

function argumentsFor(schema: Readonly<Record<string, unknown>> | undefined, nth: number): string {
  if (schema === undefined) return `*** Begin Patch\n*** Add File: millrace-${nth}.txt\n+hello\n*** End Patch`;
  return JSON.stringify(instanceOf(schema, `millrace-${nth}`));
}

interface Call {
  readonly tag: string;
  readonly name: string;
  readonly body: string;
  readonly block: (called: string, text: string) => string;
}

/** The same call as models get it wrong. */
function spoil(how: SpoilKind, { tag, name, body, block }: Call): string {
  switch (how) {
    case "truncated":
      return `<${tag} name="${name}">\n${body.slice(0, Math.ceil(body.length / 2))}`;
    case "trailing-comma":
      return block(name, body.replace(/\}\s*$/, ",}"));
    case "no-arguments":
      return block(name, "{}");
    case "wrong-type":
      return block(name, body.replace(/:\s*("(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?|true|false)/, ": [[0]]"));
    default:
      return how satisfies never;
  }
}
