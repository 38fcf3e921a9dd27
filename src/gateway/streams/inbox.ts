import { Code, ConnectError } from "@connectrpc/connect";
import { bestEffort } from "../../base/async.ts";
import { isMillraceError, MillraceError } from "../../base/errors.ts";
import type { TurnId } from "../../base/ids.ts";
import { writeJson } from "../../base/json.ts";
import { ownTurn } from "../../base/node/unhurried.ts";
import { superseded } from "../../log/rows.ts";
import type { StreamUnifiedChatRequestWithToolsIdempotent as ClientMessage } from "../../proto/aiserver/v1/chat_pb.ts";
import type { SendResult } from "../../turns/attach.ts";
import type { AskedTurn } from "../../turns/turns.ts";
import {
  type ClientInput,
  type ParsedMessage,
  parseMessage,
  type ToolResult,
} from "../dialects/idempotent/client-message.ts";
import { refusal } from "../dialects/idempotent/errors.ts";
import type { RpcParts } from "../http/rpc-handler.ts";
import { firstTurn, nextTurn } from "./next-turn.ts";
import { unreadable } from "./rpc/refuse-call.ts";
import { type OpenStream, readAnswer } from "./stream-log.ts";

/** Messages that wait for a missing one, and messages that wait to be accepted; more of either are not taken. */
export const mostWaiting = 64;

/** Bytes of messages that wait for a missing one, and of those that are taken before the earlier ones are accepted. */
const mostWaitingBytes = 1024 * 1024;

/**
 * The client's messages on one attach: takes them in the order of their numbers and stores each with the turn that it starts.
 * Only then is the message acknowledged. It works on one message at a time; an abort is carried out as soon as it arrives.
 */
export class Inbox {
  readonly #stream: OpenStream;
  readonly #ports;
  readonly #early = new Map<number, ParsedMessage>();
  /** The work on all messages that have arrived; each waits for the one before. Never rejects. */
  #line: Promise<void> = Promise.resolve();
  #waiting = 0;
  #waitingBytes = 0;
  /** The next number that may come after those in the line. */
  #expected: number;
  #answer: { readonly turnId: TurnId; readonly ended: ReturnType<typeof readAnswer> } | undefined;
  #aborting = false;

  constructor(
    stream: OpenStream,
    ports: Pick<RpcParts, "models" | "metrics" | "readPdf"> & {
      /** Called with the number of each message that is durable. */
      readonly acknowledge: (seqno: number) => void;
      /** Called once with the reason why the attach must end: a message was wrong, or could not be stored. */
      readonly fail: (error: unknown) => void;
    },
  ) {
    this.#stream = stream;
    this.#ports = ports;
    this.#expected = stream.state.accepted;
  }

  /** Whether every message that arrived was worked on. */
  get idle(): boolean {
    return this.#waiting === 0;
  }

  /** Resolves when every message that arrived by now was worked on. */
  worked(): Promise<void> {
    return this.#line;
  }

  /** Takes the messages, in any order with `waitsForGaps`, until they end; resolves when all are worked on. Never rejects. */
  async read(messages: AsyncIterable<ClientMessage>, waitsForGaps: boolean, signal: AbortSignal): Promise<void> {
    try {
      for await (const message of messages) {
        if (hasLargeFile(message)) await ownTurn(); // reading it took its time, and encoding it again does
        this.#take(message, waitsForGaps, signal);
        if (this.#waiting >= mostWaiting || this.#waitingBytes > mostWaitingBytes) await this.#line;
      }
      await this.#line;
    } catch (error) {
      await this.#line; // messages before the malformed one count
      if (isOfMessage(error)) this.#ports.fail(unreadable(error));
    }
  }

  #take(message: ClientMessage, waitsForGaps: boolean, signal: AbortSignal): void {
    try {
      for (const next of this.#order(parseMessage(message), waitsForGaps)) this.#enqueue(next, signal);
    } catch (error) {
      this.#line = this.#line.then(() => this.#ports.fail(error)); // messages before the wrong one count
    }
  }

  #enqueue(message: ParsedMessage, signal: AbortSignal): void {
    this.#waiting++;
    this.#waitingBytes += message.payload.length;
    this.#line = this.#line
      .then(() => (signal.aborted ? undefined : this.#accept(message, signal)))
      .catch((error: unknown) => this.#ports.fail(error))
      .finally(() => {
        this.#waiting--;
        this.#waitingBytes -= message.payload.length;
      });
  }

  /** The messages whose turn it is, with this one. */
  #order(message: ParsedMessage, waitsForGaps: boolean): readonly ParsedMessage[] {
    const { ask, state } = this.#stream;
    if (ask.intent === "observe") throw observers();
    const { seqno, input } = message;
    if (input.type === "abort" && (seqno === undefined || seqno >= state.accepted)) this.#abortNow();
    if (seqno === undefined || seqno < this.#expected) return [message];
    if (seqno > this.#expected && (!waitsForGaps || this.#isFull(message))) throw gap(seqno, this.#expected);
    this.#early.set(seqno, message);
    const ready: ParsedMessage[] = [];
    for (let next = this.#early.get(this.#expected); next !== undefined; next = this.#early.get(this.#expected)) {
      this.#early.delete(this.#expected++);
      ready.push(next);
    }
    return ready;
  }

  /** Whether no more messages may wait for a missing one. */
  #isFull({ payload }: ParsedMessage): boolean {
    let bytes = payload.length;
    for (const early of this.#early.values()) bytes += early.payload.length;
    return this.#early.size >= mostWaiting || bytes > mostWaitingBytes;
  }

  /** Carried out before it is accepted: a repetition does no harm. Results that wait then start nothing. */
  #abortNow(): void {
    this.#aborting = true;
    const running = this.#stream.state.turns.at(-1);
    if (running !== undefined) void bestEffort(this.#stream.attachment.cancel(running, "client")); // and once more below
  }

  async #accept({ seqno, input, payload }: ParsedMessage, signal: AbortSignal): Promise<void> {
    const { state, attachment } = this.#stream;
    if (seqno === undefined && state.hasEnd(input.type)) return; // an original client says it again at every attach
    const number = seqno ?? state.accepted;
    if (number < state.accepted) {
      this.#settle(number, await attachment.send({ seqno: number, payload }, undefined, signal));
      return;
    }
    const start = await this.#startOf(input, number, signal);
    const running = state.turns.at(-1);
    if (input.type === "abort" && running !== undefined && !(await attachment.cancel(running, "client")))
      throw superseded();
    const sent = await attachment.send({ seqno: number, payload }, start, signal);
    if (sent.outcome === "admitted") state.accept(input, sent.turn?.turnId);
    if (sent.turn !== undefined) this.#ports.metrics.turn("idempotent", sent.turn.joined);
    if (seqno === undefined && sent.outcome === "admitted") this.#expected = Math.max(this.#expected, state.accepted);
    else this.#settle(number, sent);
  }

  #settle(seqno: number, { outcome }: SendResult): void {
    if (outcome === "admitted" || outcome === "repeated") this.#ports.acknowledge(seqno);
    else if (outcome === "conflict") throw conflict(seqno);
    else if (outcome === "gap") throw gap(seqno, this.#stream.state.accepted);
    else if (outcome === "fenced") throw superseded();
    else outcome satisfies never;
  }

  /** The turn that a new message starts, if it starts one. */
  async #startOf(input: ClientInput, seqno: number, signal: AbortSignal): Promise<AskedTurn | undefined> {
    const { state, ask } = this.#stream;
    const over = this.#aborting || state.hasEnd();
    if (input.type === "request") {
      if (seqno === 0) return firstTurn(this.#ports, ask, input, signal);
      if (over) return undefined;
      throw misplaced("A stream has one request, which is its message 0.", "Start a new stream.");
    }
    if (input.type !== "tool_result" || over) return undefined;
    if (state.hasAnswered(input.callId)) return undefined; // an original client answers a call that it is shown again, again
    return this.#afterResult(input, signal);
  }

  /** Finds what follows a result, once the turn with its call has ended. */
  async #afterResult(result: ToolResult, signal: AbortSignal): Promise<AskedTurn | undefined> {
    const { state, ask, attachment } = this.#stream;
    const turnId = state.turns.at(-1);
    if (turnId === undefined)
      throw misplaced("There is no call that this result could answer.", "Send the request first.");
    if (this.#answer?.turnId !== turnId) this.#answer = { turnId, ended: readAnswer(attachment, turnId, signal) };
    const { blocks, waits } = await this.#answer.ended;
    if (!waits || this.#aborting) return undefined;
    const calls = blocks.filter((block) => block.kind === "tool_call");
    if (!calls.some(({ callId }) => callId === result.callId)) {
      throw misplaced(
        `The last answer has no call ${writeJson(result.callId.slice(0, 100))}.`,
        "Send each result once, with the id of its call.",
      );
    }
    const results = new Map([[result.callId, result], ...state.results]); // the first one for a call counts
    if (!calls.every(({ callId }) => results.has(callId))) return undefined;
    return nextTurn(ask, state.turns.length, await attachment.get(turnId), { blocks, results });
  }
}

/** Whether the error means that a received message is malformed, rather than that the connection broke. */
function isOfMessage(error: unknown): boolean {
  if (!(error instanceof ConnectError)) return false;
  if (isMillraceError(error.cause)) return true; // a limit of bodies
  return [Code.InvalidArgument, Code.ResourceExhausted, Code.Internal].includes(error.code);
}

function hasLargeFile({ request }: ClientMessage): boolean {
  const chunk = request.case === "clientChunk" ? request.value.request : undefined;
  const messages = chunk?.case === "streamUnifiedChatRequest" ? chunk.value.conversation : [];
  return messages.some(({ files }) => files.some(({ data }) => data.length > mostWaitingBytes));
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
