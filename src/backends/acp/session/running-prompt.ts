import type { JsonObject } from "../../../base/json.ts";
import { Notifier } from "../../../base/notifier.ts";
import type { TurnEventBody } from "../../../log/event.ts";
import { mergeDeltas } from "../../backend.ts";
import { type TokenCounts, tokensIn } from "../wire/token-counts.ts";
import type { SessionTools } from "./session-tools.ts";
import { UpdateReader } from "./updates.ts";

/** How a prompt ended at the agent. */
export type PromptEnd =
  /** It was answered; `stopReason` as ACP names it. */
  | { readonly type: "answered"; readonly stopReason: string; readonly tokens: TokenCounts | undefined }
  | { readonly type: "refused"; readonly error: Error }
  /** The process died first. Whether the prompt was accepted is not known yet. */
  | { readonly type: "died"; readonly how: string }
  /** Nothing was heard for too long; `inLine`: since a part of a line. */
  | { readonly type: "silent"; readonly inLine: boolean };

/**
 * A prompt that an agent works on. The pipe's reader hands updates in, the turn takes events out: all that one read of the
 * pipe held are taken together. Nothing is lost while no caller reads.
 */
export class RunningPrompt {
  readonly reader: UpdateReader;
  /** Resolves when the prompt has ended, in any way. */
  readonly ended: Promise<true>;
  readonly #resolveEnded: (ended: true) => void;
  #pending: TurnEventBody[] = [];
  #end: PromptEnd | undefined;
  /** Wakes at each news from the agent, also where they are no event. */
  readonly news = new Notifier();
  /** How many pieces of output the agent has sent for this prompt; grows while it lives. */
  heard = 0;

  /** `tools`: the client's, of a session that has them. */
  constructor(tools?: Pick<SessionTools, "owns">) {
    this.reader = new UpdateReader(tools);
    ({ promise: this.ended, resolve: this.#resolveEnded } = Promise.withResolvers<true>());
  }

  get end(): PromptEnd | undefined {
    return this.#end;
  }

  /** A request for permission or a question is no sign that the answer goes on, so it does not count as heard. */
  update(update: JsonObject): void {
    this.heard++;
    const event = this.reader.read(update);
    if (event !== undefined) this.#pending.push(event);
    this.news.wake();
  }

  /** Whether the request is about one of the client's tools. */
  permission(toolCall: JsonObject): boolean {
    const isOurs = this.reader.readPermission(toolCall);
    this.news.wake();
    return isOurs;
  }

  /** The agent asked its user something. */
  ask(question: string): void {
    const event = this.reader.readQuestion(question);
    if (event !== undefined) this.#pending.push(event);
    this.news.wake();
  }

  /** A notification of Devin's own. */
  vendor(method: string, params: JsonObject): void {
    this.heard++;
    this.reader.readVendor(method, params);
  }

  /** The answer begins anew: the next turn goes on with this prompt. */
  begin(): void {
    this.reader.begin();
  }

  finish(end: PromptEnd): void {
    this.#end ??= end;
    this.#resolveEnded(true);
    this.news.wake();
  }

  /** Whether there are events to take. */
  get hasNews(): boolean {
    return this.#pending.length > 0;
  }

  /** The events since the last call; neighbours of one kind are one event. */
  take(): readonly TurnEventBody[] {
    const taken = this.#pending;
    this.#pending = [];
    return mergeDeltas(taken);
  }

  /** Drops unread updates: the reader of a resumed turn compares the whole answer instead. */
  skip(): void {
    this.#pending = [];
  }
}

/** The end of a prompt, from the result of `session/prompt`. */
export function answered(result: JsonObject): PromptEnd {
  const { stopReason, usage, _meta } = result;
  return {
    type: "answered",
    stopReason: typeof stopReason === "string" ? stopReason : "end_turn",
    tokens: tokensIn(usage) ?? tokensIn(_meta),
  };
}
