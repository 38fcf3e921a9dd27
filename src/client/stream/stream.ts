import { MillraceError } from "../../base/errors.ts";
import { Connections } from "../link/connections.ts";
import type { KnownCall } from "../records/record.ts";
import { RecordKeeper } from "../records/record-keeper.ts";
import type { OwnedRecord } from "../records/record-store.ts";
import { encodeAbort, encodeClose, encodeToolResult, type ToolResult } from "./messages.ts";
import type { ReliableStream, StreamInput, StreamPass } from "./reliable-stream.ts";
import { StreamLink } from "./stream-connected.ts";
import type { StreamEvent, ToolCallEvent } from "./stream-event.ts";
import type { StreamSettings } from "./stream-options.ts";
import type { Input, StreamState } from "./stream-state.ts";
import { StreamSteps } from "./stream-steps.ts";

/** The result that the model gets for a call that may or may not have run. */
const unknownOutcome =
  "The outcome of this call is unknown: the program that ran the tool ended while it ran. It was not run again.";

/** A stream for an application: its requests become steps, and the messages of its connections become events. */
export class Stream implements ReliableStream {
  readonly #settings: StreamSettings;
  readonly #signal: AbortSignal;
  readonly #keeper: RecordKeeper;
  readonly #steps: StreamSteps;
  #isClosed = false;

  constructor(state: StreamState, owned: OwnedRecord, settings: StreamSettings, signal: AbortSignal) {
    this.#settings = settings;
    this.#signal = signal;
    this.#keeper = new RecordKeeper(owned, settings.clock, settings.noteEveryMs);
    this.#steps = new StreamSteps(state, this.#keeper);
  }

  get streamKey(): string {
    return this.#steps.state.record.streamKey;
  }

  get pass(): StreamPass {
    const { streamKey, encryptionKey } = this.#steps.state.record;
    return { streamKey, encryptionKey };
  }

  get label(): string {
    return this.#steps.state.record.label;
  }

  get createdAtMs(): number {
    return this.#steps.state.record.createdAtMs;
  }

  get events(): AsyncIterable<StreamEvent> {
    return this.#run();
  }

  async startTool(callId: string): Promise<void> {
    this.#requireCall(callId, "handed", "started");
    await this.#steps.take({ type: "started", callId });
  }

  async sendToolResult(callId: string, result: ToolResult): Promise<void> {
    this.#requireCall(callId, "started");
    await this.give({ type: "given", kind: "tool_result", payload: encodeToolResult(callId, result), callId });
  }

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

  async send(inputs: AsyncIterable<StreamInput>): Promise<void> {
    for await (const input of inputs) {
      if (input.type === "tool_started" || this.#callOf(input.callId)?.state === "handed")
        await this.startTool(input.callId);
      if (input.type === "tool_result") await this.sendToolResult(input.callId, input.result);
    }
    if (!this.#isOver) await this.close();
  }

  cancel(): Promise<void> {
    return this.give({ type: "given", kind: "abort", payload: encodeAbort() });
  }

  close(): Promise<void> {
    return this.give({ type: "given", kind: "close", payload: encodeClose() });
  }

  /** Numbers and stores something to send, then sends it if there is a connection. */
  async give(input: Extract<Input, { type: "given" }>): Promise<void> {
    if (this.#isOver) throw over();
    await this.#steps.take(input);
  }

  async leave(): Promise<void> {
    this.#isClosed = true;
    await this.#steps.done();
    await this.#keeper.close();
  }

  async *#run(): AsyncGenerator<StreamEvent, void> {
    if (this.#isClosed) throw over();
    const connected = new StreamLink(this.#steps, this.#keeper, this.#settings);
    try {
      const connections = new Connections(connected, this.#settings, this.#signal);
      for await (const delivery of connections.deliveries()) yield* connected.receive(delivery);
    } finally {
      this.#steps.closeOutgoing();
      await this.leave();
    }
  }

  get #isOver(): boolean {
    return this.#isClosed || this.#steps.state.phase === "ended";
  }

  #callOf(callId: string): KnownCall | undefined {
    return this.#steps.state.record.calls.findLast((known) => known.callId === callId);
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
