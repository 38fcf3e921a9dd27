import type { Clock } from "../../src/base/clock.ts";
import { readDirectives } from "../faults/directives.ts";
import { mergePlans, type TurnPlan } from "../faults/turn-plan.ts";
import { conversationOf, nowOf } from "../model/conversation.ts";
import type { Gate } from "../model/gate.ts";
import type { ModelPrompt } from "../model/model.ts";
import type { DeskLink } from "./desk/desk-link.ts";
import type { AgentSettings, CallTerms } from "./desk/desk-protocol.ts";
import type { JsonRpc } from "./json-rpc.ts";
import type { Session } from "./session.ts";
import type { SessionStore, StoredNode } from "./session-store.ts";

/** A client's prompt, read as a model reads it. */
export interface IncomingPrompt {
  /** All text. */
  readonly whole: string;
  /** The text that seems to be instructions rather than the question. */
  readonly instructions: string;
  /** The rest, or the whole prompt if the parts cannot be separated. */
  readonly text: string;
  readonly images: readonly { readonly mimeType: string; readonly base64: string }[];
}

/** One call of `session/prompt`, once its session is known to be free. `terms.turn` has the directives of the prompt. */
export interface PromptCall {
  readonly session: Session;
  readonly incoming: IncomingPrompt;
  readonly terms: CallTerms;
  readonly store: SessionStore;
  /** Keeps a piece of the conversation on disk. */
  readonly keep: (node: StoredNode) => void;
  readonly services: {
    readonly settings: AgentSettings;
    readonly desk: DeskLink;
    readonly rpc: JsonRpc;
    readonly clock: Clock;
    readonly gate: Gate;
    readonly pid: number;
    readonly newId: () => string;
    readonly agentType: string;
    /** Shows an update to the client. */
    readonly update: (update: object) => void;
    /** The process dies; never resolves. */
    readonly crash: () => Promise<never>;
  };
  readonly signal: AbortSignal;
}

const tagged = /<(instructions|system)((?:-\w+)?)>\n?([\s\S]*?)\n?<\/\1\2>\s*/;

/**
 * ACP has no place for instructions, so clients write them into the prompt: as text blocks before the last one, or in
 * `<instructions>` tags. A text that offers tools or demands a form is read for that as a whole.
 */
export function readPrompt(blocks: unknown): IncomingPrompt | undefined {
  if (!Array.isArray(blocks)) return undefined;
  const list = (blocks as unknown[]).filter(
    (block): block is Readonly<Record<string, unknown>> => typeof block === "object" && block !== null,
  );
  const texts = list.flatMap(({ type, text }) => (type === "text" && typeof text === "string" ? [text] : []));
  const images = list
    .filter(({ type }) => type === "image")
    .map(({ mimeType = "image/png", data = "" }) => ({ mimeType: String(mimeType), base64: String(data) }));
  const whole = texts.join("\n\n");
  const last = texts.pop() ?? "";
  if (texts.length > 0) return { whole, instructions: texts.join("\n\n"), text: last, images };
  const match = tagged.exec(whole);
  if (match !== null) return { whole, instructions: match[3] ?? "", text: whole.replace(match[0], ""), images };
  return { whole, instructions: offersSomething(whole) ? whole : "", text: whole, images };
}

/** Whether a text offers tools or demands a form of the answer. */
function offersSomething(text: string): boolean {
  return /^# (?:Tools|Form of the answer)$/m.test(text);
}

/** The prompt for the model of a turn, without the directives of the simulator, and the first of those that cannot be understood. */
export function modelPrompt(
  prompt: IncomingPrompt,
  defaults: TurnPlan,
  history: readonly StoredNode[],
  model: { readonly id: string; readonly name: string; readonly thinks: boolean },
): { readonly prompt: ModelPrompt; readonly problem: string | undefined } {
  const fromInstructions = readDirectives(prompt.instructions);
  const fromText = readDirectives(nowOf(prompt.text));
  // A model remembers the content of its session: if a prompt offers no tools, the session's last offer holds.
  const offer = offersSomething(prompt.instructions)
    ? undefined
    : history.findLast(({ role, kind, body }) => role === "user" && kind === "text" && offersSomething(body));
  return {
    problem: [...fromInstructions.problems, ...fromText.problems][0],
    prompt: {
      text: prompt.text,
      asked: fromText.text,
      instructions: offer === undefined ? prompt.instructions : `${offer.body}\n\n${prompt.instructions}`,
      history: history.flatMap(({ role, body, kind }) =>
        kind === "text" && (role === "user" || role === "assistant") ? [{ role, text: body }] : [],
      ),
      images: prompt.images,
      modelUid: model.id,
      modelLabel: model.name,
      thinks: model.thinks,
      outputLimit: undefined,
      plan: mergePlans(defaults, fromInstructions.plan, fromText.plan),
    },
  };
}

/** A role that summarises its input; a request framed as an execution trace may be answered instead. */
export function summarised(prompt: ModelPrompt, how: "answers" | "unframed" | "always"): ModelPrompt {
  const isTrace = /execution trace/i.test(`${prompt.instructions}\n${prompt.text}`);
  if (how === "answers" || (how === "unframed" && isTrace)) return prompt;
  const asked = conversationOf(prompt.text).at(-1)?.text ?? prompt.text;
  const text = `Summary: the user asked ${JSON.stringify(asked.replaceAll(/\s+/g, " ").slice(0, 120))}. No work was done yet.`;
  return { ...prompt, plan: { ...prompt.plan, text } };
}
