import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { type ErrorRecord, MillraceError } from "../../../base/errors.ts";
import type { TurnEvent, Usage } from "../../../log/event.ts";
import {
  type StreamUnifiedChatResponseWithTools as ServerChunk,
  StreamUnifiedChatResponseWithToolsSchema as ServerChunkSchema,
  StreamEnd_Outcome,
  type StreamEndSchema,
} from "../../../proto/aiserver/v1/chat_pb.ts";
import { type AnswerEnd, AnswerFold, type AnswerStep, type Block } from "../answer.ts";
import { failureOf } from "../errors.ts";
import { beforeFirst, chunkId, endId } from "./event-id.ts";

/** The digest over events: of the digest before (empty at first) and the next chunk's bytes. */
export type Digest = (before: Uint8Array, chunk: Uint8Array) => Uint8Array;

/** Called for each chunk, with the digest up to it. */
export type OnChunk = (chunk: ServerChunk, chain: Uint8Array) => void;

type ChunkInit = Omit<MessageInitShape<typeof ServerChunkSchema>, "eventId" | "$typeName">;
type EndInit = Omit<MessageInitShape<typeof StreamEndSchema>, "eventCount" | "chainDigest" | "$typeName">;

/** A tool of the client's own, called by name. Source: docs/dev/wire/idempotent-streams.md, "Messages". */
const ownTool = 19;

/** What an encoder knows of a stream's turns that have ended, between two turns. */
export interface EncodedTurns {
  readonly segment: number;
  readonly count: number;
  readonly tail: { readonly eventId: string; readonly chain: Uint8Array };
  readonly usage: Pick<Usage, "promptTokens" | "completionTokens"> | undefined;
}

/**
 * A stream's turns in, its chunks out: equal turns give equal ids and equal bytes, whenever and however often they are
 * encoded. Pure; the digest comes in, since not every runtime has one that answers at once.
 */
export class StreamEncoder {
  readonly #digest: Digest;
  readonly #unread: () => readonly string[];
  readonly #told: (error: ErrorRecord) => ErrorRecord;
  #segment = 0;
  #fold = new AnswerFold({ tools: [] });
  #chain: Uint8Array = new Uint8Array(0);
  #count = 0;
  #tail = beforeFirst;
  #rewritten = false;
  #usage: Pick<Usage, "promptTokens" | "completionTokens"> | undefined;
  #earlierUsage: Pick<Usage, "promptTokens" | "completionTokens"> | undefined;
  #ended: AnswerEnd | undefined;

  constructor({
    digest,
    unread,
    told,
    after,
  }: {
    readonly digest: Digest;
    /** The fields of the stream's request that this gateway does not read; called once the model has the prompt. */
    readonly unread: () => readonly string[];
    /** The failure that ended the stream, as its client reads it. Pure. */
    readonly told: (error: ErrorRecord) => ErrorRecord;
    /** Goes on after these turns; unset: from the start of the stream. */
    readonly after?: EncodedTurns | undefined;
  }) {
    this.#digest = digest;
    this.#unread = unread;
    this.#told = told;
    if (after === undefined) return;
    this.#segment = after.segment;
    this.#count = after.count;
    this.#tail = after.tail.eventId;
    this.#chain = after.tail.chain;
    this.#usage = after.usage;
  }

  /** The turns so far, the last of which has ended. */
  get turns(): EncodedTurns {
    return { segment: this.#segment, count: this.#count, tail: this.tail, usage: this.#usageSoFar() };
  }

  /** The last chunk's id, and the digest up to it. */
  get tail(): { readonly eventId: string; readonly chain: Uint8Array } {
    return { eventId: this.#tail, chain: this.#chain };
  }

  /** How many turns were begun. */
  get segment(): number {
    return this.#segment;
  }

  /** The end of the stream; undefined while it continues. */
  get ended(): AnswerEnd | undefined {
    return this.#ended;
  }

  /** The error to send after the end event, if the answer is not complete. */
  get failure(): ErrorRecord | undefined {
    return this.#ended === undefined || this.#ended.type === "finished" ? undefined : failureOf(this.#ended);
  }

  /** The end of the turn that was encoded last; undefined while it continues. */
  get turnEnd(): AnswerEnd | undefined {
    return this.#fold.answer.end;
  }

  /** The calls and texts of the turn that was encoded last. */
  get blocks(): readonly Block[] {
    return this.#fold.answer.blocks;
  }

  begin(): void {
    this.#segment++;
    this.#fold = new AnswerFold({ tools: [] });
    this.#earlierUsage = this.#usageSoFar();
    this.#usage = undefined;
    this.#rewritten = false;
  }

  /** The chunks of the turn's next event. */
  push(event: TurnEvent, onChunk?: OnChunk): readonly ServerChunk[] {
    if (event.type === "usage") this.#usage = event;
    const chunks: ServerChunk[] = [];
    const put = (init: ChunkInit) => {
      const chunk = this.#chunk(chunkId(this.#segment, event.eventId, chunks.length), init);
      chunks.push(chunk);
      onChunk?.(chunk, this.#chain);
    };
    if (event.type === "started" && this.#count === 0)
      put({ response: { case: "streamStart", value: { unreadFields: [...this.#unread()] } } });
    for (const step of this.#fold.push(event)) {
      const init = this.#chunkOf(step);
      if (init !== undefined) put(init);
    }
    return chunks;
  }

  /** The end that the client brought about while no turn ran: nothing more to come, or nothing more wanted. */
  end(how: "close" | "abort", onChunk?: OnChunk): ServerChunk {
    const called = this.#fold.answer.end?.type === "finished";
    const reason = called ? "tool_calls" : "stop";
    const end: AnswerEnd =
      how === "abort"
        ? { type: "cancelled", by: "client" }
        : { type: "finished", reason: { unified: reason, raw: undefined } };
    const chunk = this.#chunk(endId(this.#segment), this.#endOf(end));
    onChunk?.(chunk, this.#chain);
    return chunk;
  }

  #chunkOf(step: AnswerStep): ChunkInit | undefined {
    switch (step.type) {
      case "open":
        return undefined;
      case "delta":
        if (step.block.kind === "text") return chat({ text: step.delta });
        return step.block.kind === "thinking" ? chat({ thinking: { text: step.delta } }) : undefined;
      case "rewritten":
        this.#rewritten = true;
        return chat({ text: step.delta, rewrittenText: step.text });
      case "close":
        return step.block.kind === "tool_call" ? callOf(step.block) : undefined;
      case "end":
        if (step.end.type === "finished" && step.end.reason.unified === "tool_calls")
          return chat({ parallelToolCallsComplete: true });
        return this.#endOf(step.end);
      default:
        return step satisfies never;
    }
  }

  #endOf(ended: AnswerEnd): ChunkInit {
    const end = ended.type === "failed" ? { ...ended, error: this.#told(ended.error) } : ended;
    this.#ended = end;
    const usage = this.#usageSoFar();
    const streamEnd = {
      ...wordsOf(end),
      eventCount: this.#count,
      chainDigest: this.#chain,
      ...(this.#rewritten ? { text: this.#fold.text } : {}),
      ...(usage === undefined ? {} : usage),
    };
    return { streamEnd };
  }

  #chunk(eventId: string, init: ChunkInit): ServerChunk {
    const chunk = create(ServerChunkSchema, { ...init, eventId });
    this.#chain = this.#digest(this.#chain, toBinary(ServerChunkSchema, chunk));
    this.#count++;
    this.#tail = eventId;
    return chunk;
  }

  /** Over all turns of the stream. */
  #usageSoFar(): Pick<Usage, "promptTokens" | "completionTokens"> | undefined {
    const [a, b] = [this.#earlierUsage, this.#usage];
    if (a === undefined || b === undefined) return a ?? (b && pick(b));
    return {
      promptTokens: a.promptTokens + b.promptTokens,
      completionTokens: a.completionTokens + b.completionTokens,
    };
  }
}

function pick({ promptTokens, completionTokens }: Pick<Usage, "promptTokens" | "completionTokens">) {
  return { promptTokens, completionTokens };
}

type ChatInit = Extract<NonNullable<ChunkInit["response"]>, { case: "streamUnifiedChatResponse" }>["value"];

function chat(value: ChatInit): ChunkInit {
  return { response: { case: "streamUnifiedChatResponse", value } };
}

function callOf(block: Extract<Block, { kind: "tool_call" }>): ChunkInit {
  const { callId: toolCallId, name, arguments: rawArgs, callIndex: toolIndex } = block;
  return {
    response: { case: "clientSideToolV2Call", value: { tool: ownTool, toolCallId, name, rawArgs, toolIndex } },
  };
}

function wordsOf(end: AnswerEnd): EndInit {
  if (end.type === "finished") return { outcome: StreamEnd_Outcome.FINISHED, reason: end.reason.unified };
  if (end.type === "cancelled") return { outcome: StreamEnd_Outcome.CANCELLED, reason: end.by };
  const { code: errorCode, message: errorMessage, hint: errorHint } = MillraceError.fromRecord(end.error);
  return { outcome: StreamEnd_Outcome.FAILED, errorCode, errorMessage, errorHint };
}
