import type { TurnId } from "../../base/ids.ts";
import { Bell } from "../../base/notifier.ts";
import type { AcceptedMessage } from "../../log/store.ts";
import type { Block } from "../dialects/answer.ts";
import { type ClientInput, readPayload, type ToolResult } from "../dialects/idempotent/client-message.ts";
import { unreadFields } from "../dialects/idempotent/unread.ts";

/** The progress of a stream. It depends only on the accepted messages and on the logs of the turns, so every attach and every process finds the same. */
export class StreamProgress {
  /** Rung after each message that is accepted; for one who waits. */
  readonly news = new Bell();
  #accepted = 0;
  readonly #turns: TurnId[] = [];
  #results = new Map<string, ToolResult>();
  /** In the order in which they were accepted; the first one counts. */
  readonly #ends: ("close" | "abort")[] = [];
  /** Calls of any turn that have a result. */
  readonly #answered = new Set<string>();
  #unread: readonly string[] = [];

  constructor(accepted: readonly AcceptedMessage[]) {
    for (const { payload, turnId } of accepted) this.accept(readPayload(payload), turnId);
  }

  /** How many messages were accepted, which is the number of the next one. */
  get accepted(): number {
    return this.#accepted;
  }

  /** The turns of the stream, in order. */
  get turns(): readonly TurnId[] {
    return this.#turns;
  }

  /** Results for the calls of the last turn; the first one for a call counts. */
  get results(): ReadonlyMap<string, ToolResult> {
    return this.#results;
  }

  /** The fields of the request that Millrace does not use. */
  get unread(): readonly string[] {
    return this.#unread;
  }

  /** Whether a result for the call was accepted, for an earlier turn too. */
  hasAnswered(callId: string): boolean {
    return this.#answered.has(callId);
  }

  /** Whether a message that ends the stream was accepted: this one, or any. */
  hasEnd(kind?: ClientInput["type"]): boolean {
    return this.#ends.some((end) => kind === undefined || end === kind);
  }

  /** Takes a message that is durable now, and the turn that it started. */
  accept(input: ClientInput, turnId: TurnId | undefined): void {
    this.#accepted++;
    this.news.ring();
    if (input.type === "request") this.#unread = unreadFields(input.chat);
    if (input.type === "close" || input.type === "abort") this.#ends.push(input.type);
    if (input.type === "tool_result" && !this.#answered.has(input.callId)) {
      this.#answered.add(input.callId);
      this.#results.set(input.callId, input);
    }
    if (turnId === undefined) return;
    this.#turns.push(turnId);
    this.#results = new Map();
  }

  /**
   * How the stream ends once its last turn has ended with these blocks and calls that wait; undefined while it waits for
   * results. All of them without a next turn: they came together with an abort, whose own number was not stored.
   */
  endAfter(blocks: readonly Block[]): "close" | "abort" | undefined {
    const [end] = this.#ends;
    if (end !== undefined) return end;
    const calls = blocks.filter((block) => block.kind === "tool_call");
    return calls.length > 0 && calls.every(({ callId }) => this.#results.has(callId)) ? "abort" : undefined;
  }
}
