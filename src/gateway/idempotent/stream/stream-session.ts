import { bestEffort } from "../../../base/async.ts";
import { Bell } from "../../../base/bell.ts";
import { MillraceError, toMillraceError } from "../../../base/errors.ts";
import type { TurnId } from "../../../base/ids.ts";
import { superseded } from "../../../log/superseded.ts";
import type { Models } from "../../../models/model.ts";
import type { StreamUnifiedChatRequestWithToolsIdempotent as ClientMessage } from "../../../proto/aiserver/v1/chat_pb.ts";
import type { Attachment, Sent } from "../../../turns/attach/attachment.ts";
import type { StartedTurn, StartTurn } from "../../../turns/turns.ts";
import {
  type ClientInput,
  type ParsedMessage,
  parseMessage,
  type ToolResult,
} from "../../dialects/idempotent/client-message.ts";
import { refusal } from "../../dialects/idempotent/errors.ts";
import { firstTurn, nextTurn } from "../attach/next-turn.ts";
import type { AttachAsk } from "../rpc/attach-headers.ts";
import { type EndedAnswer, readAnswer } from "./read-answer.ts";
import type { StreamProgress } from "./stream-progress.ts";

export interface StreamSessionOptions {
  readonly attachment: Attachment;
  readonly state: StreamProgress;
  readonly ask: AttachAsk;
  readonly models: Pick<Models, "resolve">;
  /** Called with the size in bytes of each new message before the message is stored; throws if it is too large. */
  readonly keep: (bytes: number) => void;
  /** Called for each turn that a message started. */
  readonly onTurn: (turn: StartedTurn) => void;
  /** Whether a message that comes before its turn waits for the missing one. False on an ordered connection. */
  readonly waitsForGaps: boolean;
}

/** Messages that wait for a missing one, and messages that wait to be accepted; more of either are not taken. */
export const mostWaiting = 64;

/**
 * The client's messages on one attach: takes them in the order of their numbers and stores each with the turn that it starts.
 * Only then is the message acknowledged. It works on one message at a time; an abort is carried out as soon as it arrives.
 */
export class StreamSession {
  readonly #options: StreamSessionOptions;
  readonly #ready: ParsedMessage[] = [];
  readonly #early = new Map<number, ParsedMessage>();
  readonly #work = new Bell();
  readonly #room = new Bell();
  readonly #listeners = new Set<Bell>();
  readonly #answers = new Map<TurnId, Promise<EndedAnswer>>();
  /** The next number that may come after those that are ready. */
  #expected: number;
  #acks: number[] = [];
  #failure: MillraceError | undefined;
  #aborting = false;
  #busy = false;
  #inputEnded = false;
  #unreadable: MillraceError | undefined;
  #over = false;

  constructor(options: StreamSessionOptions) {
    this.#options = options;
    this.#expected = options.state.accepted;
  }

  /** Why the attach must end: a message was wrong, or could not be stored. */
  get failure(): MillraceError | undefined {
    return this.#failure;
  }

  /** Whether everything that came was worked on. */
  get idle(): boolean {
    return !this.#busy && this.#ready.length === 0;
  }

  get inputEnded(): boolean {
    return this.#inputEnded;
  }

  /** Rings the bell whenever there is something new: acknowledgements, a turn, an end, a failure. */
  tell(bell: Bell): void {
    this.#listeners.add(bell);
  }

  /** Called when another attach or another process changed the stream's state. */
  noteChange(): void {
    this.#news();
  }

  /** Numbers to acknowledge that were not taken yet. */
  takeAcks(): readonly number[] {
    const acks = this.#acks;
    this.#acks = [];
    return acks;
  }

  /**
   * Takes a message and resolves when its work is done; waits while too many messages wait already. An error of the message becomes
   * the failure of the attach.
   */
  async feed(message: ClientMessage): Promise<void> {
    while (this.#ready.length >= mostWaiting && !this.#over) await this.#room.wait();
    if (this.#failure !== undefined || this.#over) return;
    try {
      this.#order(parseMessage(message));
    } catch (error) {
      this.fail(error);
    }
  }

  /**
   * Ends the input of this connection. `why`: the last message was malformed; the attach ends with this error, after it has worked on
   * all earlier messages.
   */
  endInput(why?: MillraceError): void {
    this.#inputEnded = true;
    this.#unreadable = why;
    this.#work.ring();
    this.#news();
  }

  /** Works until the signal aborts or something fails; never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    try {
      while (!signal.aborted && this.#failure === undefined) {
        const next = this.#ready.shift();
        if (next === undefined) {
          if (this.#unreadable !== undefined) throw this.#unreadable;
          await this.#work.wait(signal);
          continue;
        }
        this.#room.ring();
        this.#busy = true;
        await this.#accept(next, signal);
        this.#busy = false;
        this.#news();
      }
    } catch (error) {
      this.#busy = false;
      if (!signal.aborted) this.fail(error);
    } finally {
      this.#over = true;
      this.#room.ring();
    }
  }

  #news(): void {
    for (const bell of this.#listeners) bell.ring();
  }

  /** Ends the attach with this; the first failure stays. */
  fail(error: unknown): void {
    this.#failure ??= toMillraceError(error);
    this.#work.ring();
    this.#room.ring();
    this.#news();
  }

  #order(message: ParsedMessage): void {
    if (this.#options.ask.intent === "observe") throw observers();
    const { seqno, input } = message;
    if (input.type === "abort" && (seqno === undefined || seqno >= this.#options.state.accepted)) this.#abortNow();
    if (seqno !== undefined && seqno > this.#expected) {
      if (!this.#options.waitsForGaps || this.#early.size >= mostWaiting) throw gap(seqno, this.#expected);
      this.#early.set(seqno, message);
      return;
    }
    this.#ready.push(message);
    if (seqno === this.#expected) this.#expected++;
    for (let early = this.#early.get(this.#expected); early !== undefined; early = this.#early.get(this.#expected)) {
      this.#early.delete(this.#expected);
      this.#ready.push(early);
      this.#expected++;
    }
    this.#work.ring();
  }

  /** Carried out before it is accepted: a repetition does no harm. Results that wait then start nothing. */
  #abortNow(): void {
    this.#aborting = true;
    const running = this.#options.state.turns.at(-1);
    if (running !== undefined) void bestEffort(this.#options.attachment.cancel(running, "client")); // and once more below
  }

  async #accept({ seqno, input, payload }: ParsedMessage, signal: AbortSignal): Promise<void> {
    const { state, attachment, keep, onTurn } = this.#options;
    if (seqno === undefined && state.has(input.type)) return; // an original client says it again at every attach
    const number = seqno ?? state.accepted;
    if (number < state.accepted) {
      this.#settle(number, await attachment.send({ seqno: number, payload }, undefined, signal));
      return;
    }
    const start = await this.#startOf(input, number, signal);
    keep(payload.length);
    const running = state.turns.at(-1);
    if (input.type === "abort" && running !== undefined && !(await attachment.cancel(running, "client")))
      throw superseded();
    const sent = await attachment.send({ seqno: number, payload }, start, signal);
    if (sent.outcome === "admitted") state.accept(input, sent.turn?.turnId);
    if (sent.turn !== undefined) onTurn(sent.turn);
    if (seqno === undefined && sent.outcome === "admitted") this.#expected = Math.max(this.#expected, state.accepted);
    else this.#settle(number, sent);
  }

  #settle(seqno: number, { outcome }: Sent): void {
    if (outcome === "admitted" || outcome === "repeated") this.#acks.push(seqno);
    else if (outcome === "conflict") throw conflict(seqno);
    else if (outcome === "gap") throw gap(seqno, this.#options.state.accepted);
    else if (outcome === "fenced") throw superseded();
    else outcome satisfies never;
  }

  /** The turn that a new message starts, if it starts one. */
  async #startOf(input: ClientInput, seqno: number, signal: AbortSignal): Promise<StartTurn | undefined> {
    const { state, models, ask } = this.#options;
    const over = this.#aborting || state.has("abort") || state.has("close");
    if (input.type === "request") {
      if (seqno === 0) return firstTurn(models, ask, input, signal);
      if (over) return undefined;
      throw misplaced("A stream has one request, which is its message 0.", "Start a new stream.");
    }
    if (input.type !== "tool_result" || over) return undefined;
    if (state.hasAnswered(input.callId)) return undefined; // an original client answers a call that it is shown again, again
    return this.#afterResult(input, signal);
  }

  /** Finds what follows a result, once the turn with its call has ended. */
  async #afterResult(result: ToolResult, signal: AbortSignal): Promise<StartTurn | undefined> {
    const { state, ask, attachment } = this.#options;
    const turnId = state.turns.at(-1);
    if (turnId === undefined)
      throw misplaced("There is no call that this result could answer.", "Send the request first.");
    const { blocks, waits } = await this.#answerOf(turnId, signal);
    if (!waits || this.#aborting) return undefined;
    const calls = blocks.filter((block) => block.kind === "tool_call");
    if (!calls.some(({ callId }) => callId === result.callId)) {
      throw misplaced(
        `The last answer has no call ${JSON.stringify(result.callId.slice(0, 100))}.`,
        "Send each result once, with the id of its call.",
      );
    }
    const results = new Map([[result.callId, result], ...state.results]); // the first one for a call counts
    if (!calls.every(({ callId }) => results.has(callId))) return undefined;
    return nextTurn(ask, state.turns.length, await attachment.get(turnId), { blocks, results });
  }

  #answerOf(turnId: TurnId, signal: AbortSignal): Promise<EndedAnswer> {
    const known = this.#answers.get(turnId);
    if (known !== undefined) return known;
    const answer = readAnswer(this.#options.attachment, turnId, signal);
    this.#answers.clear(); // only the last turn's is ever asked for
    this.#answers.set(turnId, answer);
    return answer;
  }
}

function misplaced(message: string, hint: string): MillraceError {
  return new MillraceError("invalid_request", message, { hint });
}

function conflict(seqno: number): MillraceError {
  return refusal("idempotency_conflict", "seqno_conflict", `Number ${seqno} was used for another message.`, {
    hint: "Use each number once, and store it before you send the message.",
  });
}

function gap(seqno: number, expected: number): MillraceError {
  return refusal("invalid_request", "seqno_gap", `Number ${seqno} came before number ${expected}.`, {
    hint: "Send what was not acknowledged again, in order.",
  });
}

function observers(): MillraceError {
  return refusal("invalid_request", "observer", "An observer sends nothing.", {
    hint: "Attach with `resume` to send.",
  });
}
