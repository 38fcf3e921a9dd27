import type { ErrorRecord } from "../../base/errors.ts";
import type { TurnId } from "../../base/ids.ts";
import type { TurnEvent } from "../../log/event.ts";
import type { TurnRequest } from "../../log/request.ts";
import type { Answer } from "./answer.ts";

/** One server-sent event of an API: its name where the API names its events, and one line of data (JSON or `[DONE]`). */
export interface WireEvent {
  readonly name?: string;
  readonly data: string;
  /** Its own number in the stream, where the API numbers its events. */
  readonly number?: number;
}

/** An error as an API answers it before the first byte. */
export interface WireError {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
}

/** A body that was understood. `wire` is plain JSON that the dialect wants back with the turn's record. */
export interface ParsedTurn {
  readonly request: TurnRequest;
  readonly stream: boolean;
  readonly wire?: unknown;
  /** Types of offered tools that were left out, because only the API's vendor could run them. */
  readonly ignoredTools?: readonly string[];
  /** Types of items, blocks and messages of the history that were left out. */
  readonly leftOut?: readonly string[];
  /** The turn continues to its end without a reader. */
  readonly detached?: boolean;
}

/**
 * The facts that an encoder has beside the events. All of them come from the turn's record, so that every reader of a turn, now or
 * after a restart, gets the same bytes. Only `parsed` may come from the reader's own request.
 */
export interface EncodeContext {
  readonly turnId: TurnId;
  readonly createdAtMs: number;
  readonly parsed: ParsedTurn;
  readonly requestId: string;
  /** The estimated tokens of the prompt: usage reports them if the upstream reported none. At least 1. */
  readonly promptTokens: number;
  /** The one estimator of the gateway: tokens of a text, about. */
  readonly estimateTokens: (text: string) => number;
}

/**
 * Turn events in, wire events out: a state machine that yields a legal stream of its API for any legal sequence of
 * events. It is called once per event, in order, and holds no clock: equal events give equal bytes.
 */
export interface Encoder {
  /** The first events of the stream, before any event of the turn. */
  open(): readonly WireEvent[];
  encode(event: TurnEvent): readonly WireEvent[];
  /** A real event of this API that changes nothing, for silence while the upstream is known alive. `waiting`: the turn's place in the queue. */
  heartbeat(waiting?: string): readonly WireEvent[];
  /** The log could not be read to its end: an error that no client takes for a complete answer. */
  broken(error: ErrorRecord): readonly WireEvent[];
}

export type DialectName =
  | "openai-chat"
  | "openai-completions"
  | "openai-responses"
  | "openai-compaction"
  | "anthropic-messages"
  | "ollama"
  | "gemini";

/**
 * One API: pure functions between bodies and turns. Knows no IDE, no clock, no network.
 * Source: docs/dev/architecture.md, "Principles".
 */
export interface Dialect {
  readonly name: DialectName;
  /** Streams are lines of JSON, or the lines of one array, instead of server-sent events. */
  readonly framing?: "lines" | "array";
  /** Events have an `id:` only for a client that can resume: some clients of this API read each line that is no `data:` as a part of an error. */
  readonly hasIdsForResuming?: true;
  /** Throws `invalid_request` with the path of the field at fault. */
  parse(body: unknown): ParsedTurn;
  encoder(context: EncodeContext): Encoder;
  /** The whole answer as one body; what a client accumulates from the stream. Only for an answer that finished. */
  encodeAnswer(context: EncodeContext, answer: Answer): unknown;
  encodeError(error: ErrorRecord, requestId: string): WireError;
}

/** The member that tells the place of a turn that waits. */
export function toldPlace(waiting: string | undefined): { readonly millrace?: { readonly queue: string } } {
  return waiting === undefined ? {} : { millrace: { queue: waiting } };
}

/** A turn's id as an API writes ids: another prefix, the same 26 characters, so that either leads to the other. */
export function wireId(prefix: string, turnId: TurnId): string {
  return prefix + turnId.slice("turn_".length);
}

/** The turn that a wire id names; undefined when it cannot be one of ours. */
export function turnIdOf(prefix: string, id: string): TurnId | undefined {
  if (!id.startsWith(prefix)) return undefined;
  const rest = id.slice(prefix.length);
  return /^[0-9a-z]{26}$/.test(rest) ? (`turn_${rest}` as TurnId) : undefined; // the form that newTurnId makes
}
