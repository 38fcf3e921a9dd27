import type { CascadeId, ModelUid } from "../base/ids.ts";
import type { BackendKind, TurnEventBody } from "../log/event.ts";

/** The upstream prompt of one turn: made by `turns/prompt`, sent by a backend in the form of its wire. */
export interface Prompt {
  readonly modelUid: ModelUid;
  /** The number of the model where it has one (`MODEL_…` enum); string-only models have none. */
  readonly modelNumber: number | undefined;
  /** System and tool instructions: rendered in every planner mode. */
  readonly instructions: string;
  /** The conversation as one user text, for a backend that takes one. */
  readonly text: string;
  /** The same conversation message by message, for a backend that takes a list: plain text, tools and results written out; the last one is the user's. */
  readonly messages: readonly { readonly role: "user" | "assistant"; readonly text: string }[];
  readonly images: readonly { readonly mimeType: string; readonly base64: string }[];
  readonly maxOutputTokens: number | undefined;
  /** A live conversation that already holds all but the last message; then `text` is that message alone. */
  readonly continues: CascadeId | undefined;
  /** The required form of the answer; an agent may be asked in another style for each form. */
  readonly form: PromptForm;
  /** The mark that ends the names of this prompt's tags. Instructions that differ only in it are the same instructions. */
  readonly mark?: string;
  /** The same prompt for an agent that is given the client's tools as its own; absent where the prose has to teach calls. */
  readonly native?: NativePrompt;
  /** The whole history, for a prompt that `continues` and whose conversation turns out to be gone once the turn has begun. */
  readonly instead?: Prompt;
}

/** A prompt whose tools the agent calls by itself. One prompt then lasts from the question to the answer, over all its calls. */
export interface NativePrompt {
  readonly tools: readonly ToolSpec[];
  /** In place of those of the prompt: without the rules for calls in prose. */
  readonly instructions: string;
  readonly text: string;
  /** Whether the client takes several calls at once. */
  readonly parallel: boolean;
  /** The results that end the conversation, where nothing but results follows its last answer. */
  readonly results: readonly ToolResult[] | undefined;
}

/** A tool as an agent sees it. */
export interface ToolSpec {
  /** At most 48 letters, digits, `_` and `-`: agents put a prefix before it, and their models take 64. */
  readonly name: string;
  readonly description: string;
  /** A JSON Schema of an object. */
  readonly inputSchema: Readonly<Record<string, unknown>>;
  /** What is wrong with the arguments of a call, in words for the model; undefined where they fit. */
  readonly check?: (args: Readonly<Record<string, unknown>>) => string | undefined;
}

/** The client's answer to one call. The parts are those of MCP. */
export interface ToolResult {
  readonly callId: string;
  readonly content: readonly (
    | { readonly type: "text"; readonly text: string }
    | { readonly type: "image"; readonly data: string; readonly mimeType: string }
  )[];
  readonly isError: boolean;
}

/** The raw reason of an answer that ended with calls while its prompt goes on: the agent waits for their results. */
export const parkedReason = "parked";

/** The id of a call that an agent makes and waits for. `round`: 16 hexadecimal digits of its relay; `number`: from 0. */
export function awaitedCallId(round: string, number: number): string {
  return `call_${round}${number.toString(16).padStart(8, "0")}`;
}

/** Whether it is such an id. */
export function isAwaited(callId: string): boolean {
  return /^call_[0-9a-f]{24}$/.test(callId);
}

/** An agent's call that nobody answered for so long is answered with an error, so that no prompt waits for ever; ms. */
export const longestCallMs = 20 * 60_000;

/** `text`: a plain answer. `tools`: the client offered tools. `json`: the answer has to be JSON. */
export type PromptForm = "text" | "tools" | "json";

/** Events that came together, in order, as one poll or one read of a pipe answered them. Never empty. */
export type Batch = readonly TurnEventBody[];

/** The logged part of a turn that another process began: its `started`, and the text and thinking since. */
export interface ResumePoint {
  readonly cascadeId: CascadeId | undefined;
  /** `fromStep` of `started`. */
  readonly fromStep?: number;
  /** As this backend gave it: every `text` delta, or the last `rewritten` and the deltas since. */
  readonly text: string;
  readonly thinking: string;
  /** The log holds something of the answer even where `text` and `thinking` are empty: the prompt certainly arrived. */
  readonly answered?: boolean;
  /** `tools` and `goesOn` of `started`. */
  readonly tools?: "native";
  readonly goesOn?: true;
}

/** Why a running turn was stopped: the reason of its signal. `detach` changes nothing upstream. */
export type StopReason = "cancel" | "detach";

/**
 * Sends a prompt and follows its answer.
 *
 * - The first batch is `started` alone. The prompt is sent only when the consumer asks for the batch after it: asking means
 *   "stored". That is how a prompt is sent at most once per turn. Source: docs/dev/architecture.md.
 * - The last event of the last batch is `finished`, `failed`, or `cancelled` by `ide` when the user pressed stop in the IDE.
 *   Errors of the upstream are events, never exceptions; an error before `started` is a `failed` too.
 * - When `signal` aborts with reason `"cancel"` the backend cancels and archives upstream, then ends without a terminal
 *   event: the one who aborted writes it. With `"detach"` it just stops.
 * - The conversation is archived at every end, unless detached, or finished and kept for continuity (`keep`).
 */
export interface Backend {
  readonly kind: BackendKind;
  run(prompt: Prompt, options: RunOptions, signal: AbortSignal): AsyncIterable<Batch>;
  /**
   * Continues a turn whose log holds `started` and all events up to `from`; does not repeat `started`. Sends the prompt only
   * if the server certainly never accepted it. For a turn whose log is empty, call `run` instead.
   */
  resume(prompt: Prompt, from: ResumePoint, options: RunOptions, signal: AbortSignal): AsyncIterable<Batch>;
  /** Whether a prompt waits there for the results of calls, so that it goes on in the next gateway; without it none can. */
  waits?(cascadeId: CascadeId): Promise<boolean>;
  /** Cleans up a conversation that will not be continued. */
  archive(cascadeId: CascadeId, signal: AbortSignal): Promise<void>;
}

export interface RunOptions {
  /** Leave the trajectory open once `finished`, for the next turn of the same conversation. */
  readonly keep: boolean;
  /** Called after each poll that the server answered: the upstream is known alive. */
  readonly onAlive: () => void;
  /** Called when the prompt is sent or followed: whether its answer ends with this process, so that no later one can continue the turn. */
  readonly onEndsWithGateway?: (ends: boolean) => void;
  /** Called when the clean-up at the end failed: the conversation is still there, and `archive` must be called for it later. */
  readonly onLeft?: (cascadeId: CascadeId) => void;
}

/** Finds the backend for a turn. Throws `ide_not_running`, `not_signed_in`, `backend_retired`, `upstream_failed`. */
export interface Backends {
  /** The backend for a new prompt: by its model (`<agent>/<model>` names an agent), else the one that works with the IDE that runs now. */
  choose(prompt: Pick<Prompt, "modelUid" | "form">, signal: AbortSignal): Promise<Backend>;
  /** For a conversation that was begun before, by this process or another one, as its `started` says. */
  holding(
    begun: { readonly backend: BackendKind; readonly cascadeId: CascadeId | undefined },
    signal: AbortSignal,
  ): Promise<Backend>;
}

/** The events of batches, one by one; asks for a batch when the one before is used up. */
export async function* eventsOf(batches: AsyncIterable<Batch>): AsyncGenerator<TurnEventBody, void> {
  for await (const batch of batches) yield* batch;
}

/** Joins neighbouring deltas of one kind: events of one poll become as few as they can be. Pure. */
export function mergeDeltas(bodies: readonly TurnEventBody[]): readonly TurnEventBody[] {
  if (bodies.length < 2) return bodies;
  const merged: TurnEventBody[] = [];
  for (const body of bodies) {
    const last = merged.at(-1);
    const joined = last === undefined ? undefined : join(last, body);
    if (joined === undefined) merged.push(body);
    else merged[merged.length - 1] = joined;
  }
  return merged;
}

function join(a: TurnEventBody, b: TurnEventBody): TurnEventBody | undefined {
  if (a.type === "text" && b.type === "text") return { type: "text", delta: a.delta + b.delta };
  if (a.type === "thinking" && b.type === "thinking") return { type: "thinking", delta: a.delta + b.delta };
  return undefined;
}

/** The agent in `<agent>/<model>`; undefined where a model's UID names none. */
export function agentOfModel(uid: string): string | undefined {
  const end = uid.indexOf("/");
  return end <= 0 ? undefined : uid.slice(0, end);
}

/** The agent in `acp:<agent>:<session id>`; undefined for a conversation of a language server. */
export function agentOfConversation(id: CascadeId | undefined): string | undefined {
  return /^acp:([^:]+):/.exec(id ?? "")?.[1];
}
