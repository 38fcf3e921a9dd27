import { MillraceError } from "../../base/errors.ts";
import { Connections } from "../link/connections.ts";
import type { KnownCall } from "../records/record.ts";
import { encodeAbort, encodeClose, encodeToolResult, type ToolResult } from "./messages.ts";
import type { StreamEvent, ToolCallEvent } from "./stream-event.ts";
import type { StreamSettings } from "./stream-options.ts";
import type { StreamSession } from "./stream-session.ts";
import type { Input } from "./stream-state.ts";

/** The input of an application to a stream. A result without a start before it counts as that of a tool that has just run. */
export type StreamInput =
  | { readonly type: "tool_started"; readonly callId: string }
  | { readonly type: "tool_result"; readonly callId: string; readonly result: ToolResult };

/**
 * Lets its holder read the stream, together with the gateway key that the stream was started with. Sending also needs the ticket
 * of the last welcome, which stays in the owner's record.
 */
export interface StreamPass {
  readonly streamKey: string;
  /** 32 bytes, base64url without padding: opens the gateway's copy of the stream. */
  readonly encryptionKey: string;
}

/** The result that the model gets for a call that may or may not have run. */
const unknownOutcome =
  "The outcome of this call is unknown: the program that ran the tool ended while it ran. It was not run again.";

/** A stream that survives its connections, and with a store that lasts also this process. */
export class ReliableStream {
  readonly #session: StreamSession;
  readonly #settings: StreamSettings;
  readonly #signal: AbortSignal;
  #isClosed = false;

  /** @internal Made by `startReliableStream`, `resume` and `autoResume`. */
  constructor(session: StreamSession, settings: StreamSettings, signal: AbortSignal) {
    this.#session = session;
    this.#settings = settings;
    this.#signal = signal;
  }

  /** Names the stream, and its record in the store. */
  get streamKey(): string {
    return this.#session.state.record.streamKey;
  }

  /** Lets another page, process or device `observe` the stream. It opens the answer, so keep it secret. */
  get pass(): StreamPass {
    const { streamKey, encryptionKey } = this.#session.state.record;
    return { streamKey, encryptionKey };
  }

  /** The application's own note in the record. */
  get label(): string {
    return this.#session.state.record.label;
  }

  /** When it was started, by the clock of the machine that did; epoch ms. */
  get createdAtMs(): number {
    return this.#session.state.record.createdAtMs;
  }

  /**
   * All events of the stream, each once in the life of this object, in order, to the end. Iterate once. An event counts as applied
   * when the loop comes back for the next one; a later `resume` does not repeat applied events. Leaving the loop disconnects and
   * cancels nothing: the record stays. Throws `MillraceError`: the gateway's refusal, `expired`, `degraded`, `idempotency_conflict`
   * when another client took the stream over, `upstream_failed` when the budget of attaches is spent. The end event is proved: its
   * count and digest match the received events.
   */
  get events(): AsyncIterable<StreamEvent> {
    return this.#run();
  }

  /** Reports that a tool is about to run. Once it resolves, this is stored: after a crash the call comes back as `unknown`, not as `new`. */
  async startTool(callId: string): Promise<void> {
    this.#requireCall(callId, "handed", "started");
    await this.#session.take({ type: "started", callId });
  }

  /** Gives a started tool's result. Resolved means stored: it arrives even if this process dies now (with a store that lasts). */
  async sendToolResult(callId: string, result: ToolResult): Promise<void> {
    this.#requireCall(callId, "started");
    await this.#give({ type: "given", kind: "tool_result", payload: encodeToolResult(callId, result), callId });
  }

  /**
   * `startTool`, `run`, `sendToolResult`. A call with an unknown outcome is not run again unless `rerun` allows its tool to run twice:
   * the model gets "outcome unknown" as its result. A finished call is skipped. Throws `run`'s error.
   */
  async runTool(
    { callId, state }: ToolCallEvent,
    run: () => Promise<ToolResult>,
    { rerun = false }: { readonly rerun?: boolean } = {},
  ): Promise<void> {
    if (state === "finished") return;
    await this.startTool(callId);
    const result = state === "unknown" && !rerun ? { text: unknownOutcome, isError: true } : await run();
    await this.sendToolResult(callId, result);
  }

  /**
   * Sends everything that `inputs` yields, in order; each input is stored before the next is requested. Its end closes the sending
   * side, as `close` does. Its errors are thrown, and close nothing. For applications whose tools run elsewhere.
   */
  async send(inputs: AsyncIterable<StreamInput>): Promise<void> {
    for await (const input of inputs) {
      if (input.type === "tool_started" || this.#callOf(input.callId)?.state === "handed")
        await this.startTool(input.callId);
      if (input.type === "tool_result") await this.sendToolResult(input.callId, input.result);
    }
    if (!this.#isOver) await this.close();
  }

  /** Ends the answer upstream. Resolved means stored; go on reading until the end with `cancelled`. */
  cancel(): Promise<void> {
    return this.#give({ type: "given", kind: "abort", payload: encodeAbort() });
  }

  /** Reports that no more tool results come. */
  close(): Promise<void> {
    return this.#give({ type: "given", kind: "close", payload: encodeClose() });
  }

  /** Numbers and stores something to send, then sends it if there is a connection. */
  async #give(input: Extract<Input, { type: "given" }>): Promise<void> {
    if (this.#isOver) throw over();
    await this.#session.take(input);
  }

  /** Releases a stream whose `events` are not read: its record stays, and others may take it. */
  async leave(): Promise<void> {
    this.#isClosed = true;
    await this.#session.close();
  }

  async *#run(): AsyncGenerator<StreamEvent, void> {
    if (this.#isClosed) throw over();
    try {
      yield* new Connections(this.#session, this.#settings, this.#signal).events();
    } finally {
      this.#isClosed = true;
    }
  }

  get #isOver(): boolean {
    return this.#isClosed || this.#session.isOver;
  }

  #callOf(callId: string): KnownCall | undefined {
    return this.#session.state.record.calls.findLast((known) => known.callId === callId);
  }

  #requireCall(callId: string, ...states: readonly KnownCall["state"][]): void {
    if (this.#isOver) throw over();
    const call = this.#callOf(callId);
    if (call !== undefined && states.includes(call.state)) return;
    if (call?.state === "handed")
      throw new MillraceError("invalid_request", `The tool call ${callId} was not started.`, {
        hint: "Await `startTool` before the tool runs, or use `runTool`: a crash in between must not run it twice.",
      });
    throw new MillraceError("invalid_request", `There is no open tool call ${callId}.`, {
      hint: "Give one result for each call that was handed out.",
    });
  }
}

function over(): MillraceError {
  return new MillraceError("invalid_request", "This stream has ended, or its loop was left.", {
    hint: "Resume it by its key, or start a new one.",
  });
}
