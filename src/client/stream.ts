import { MillraceError } from "../base/errors.ts";
import type {
  StreamUnifiedChatRequestWithToolsIdempotent as ClientMessage,
  StreamUnifiedChatResponseWithTools as ServerChunk,
  StreamUnifiedChatResponseWithToolsIdempotent as ServerMessage,
} from "../proto/aiserver/v1/chat_pb.ts";
import { attachHeaders, welcomeOf } from "./attach.ts";
import { nextChain } from "./chain.ts";
import { attachedOver, type Connected, Connections } from "./connections.ts";
import { decide } from "./decide.ts";
import { encodeAbort, encodeClose, encodeToolResult, type ToolResult, toWire } from "./messages.ts";
import { Overtaking } from "./overtaking.ts";
import { Queue } from "./queue.ts";
import type { KnownCall, StreamRecord } from "./record.ts";
import { RecordKeeper } from "./record-keeper.ts";
import { damagedRecord, type OwnedRecord } from "./record-store.ts";
import type { ReliableStream, StreamInput, StreamPass } from "./reliable-stream.ts";
import { lostForGood, type Refused } from "./stream-error.ts";
import { kindOf, type StreamEvent, type ToolCallEvent, toStreamEvent } from "./stream-event.ts";
import type { StreamSettings } from "./stream-options.ts";
import type { Effect, Input, StreamState } from "./stream-state.ts";
import type { Attach, Tier } from "./tier.ts";

/** What the model is told of a call that may or may not have run. */
const unknownOutcome =
  "The outcome of this call is unknown: the program that ran the tool ended while it ran. It was not run again.";

/** The driver around `decide`: performs what it says of what `Connections` bring. */
export class Stream implements ReliableStream {
  readonly #settings: StreamSettings;
  readonly #signal: AbortSignal;
  readonly #keeper: RecordKeeper;
  #state: StreamState;
  #outgoing = new Queue<ClientMessage>();
  /** Steps follow one another: what one stores is durable before the next begins. */
  #line: Promise<unknown> = Promise.resolve();
  #isClosed = false;
  #lookbackMs: number | undefined;
  readonly #overtaking = new Overtaking();
  readonly #life = crypto.randomUUID();
  #attaches = 0;

  constructor(state: StreamState, owned: OwnedRecord, settings: StreamSettings, signal: AbortSignal) {
    this.#state = state;
    this.#settings = settings;
    this.#lookbackMs = settings.lookbackMs;
    this.#signal = signal;
    this.#keeper = new RecordKeeper(owned, settings.clock, settings.noteEveryMs);
  }

  get streamKey(): string {
    return this.#state.record.streamKey;
  }

  get pass(): StreamPass {
    const { streamKey, encryptionKey } = this.#state.record;
    return { streamKey, encryptionKey };
  }

  get label(): string {
    return this.#state.record.label;
  }

  get createdAtMs(): number {
    return this.#state.record.createdAtMs;
  }

  get events(): AsyncIterable<StreamEvent> {
    return this.#run();
  }

  async startTool(callId: string): Promise<void> {
    this.#requireCall(callId, "handed", "started");
    await this.#step({ type: "started", callId });
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
    await this.#step(input);
  }

  async leave(): Promise<void> {
    this.#isClosed = true;
    await this.#line;
    await this.#keeper.close();
  }

  async *#run(): AsyncGenerator<StreamEvent, void> {
    if (this.#isClosed) throw over();
    const connected: Connected = {
      attach: () => this.#attach(),
      isOver: () => this.#state.phase === "ended",
      lost: () => this.#lost(),
      refused: (failure) => this.#refused(failure),
    };
    try {
      const connections = new Connections(connected, this.#settings, this.#signal);
      for await (const { message, tier } of connections.deliveries()) yield* this.#receive(message, tier);
    } finally {
      this.#outgoing.close();
      await this.leave();
    }
  }

  async #attach(): Promise<Attach> {
    await this.#step({ type: "attach", overtaken: this.#overtaking.isOvertaken });
    const outgoing = new Queue<ClientMessage>();
    this.#outgoing = outgoing;
    const { grace } = this.#settings;
    return {
      headers: attachHeaders(this.#state, { grace, life: this.#life, number: ++this.#attaches }),
      requestId: crypto.randomUUID(),
      outgoing: (until: AbortSignal) => outgoing.read(until),
    };
  }

  async #lost(): Promise<number> {
    this.#outgoing.close();
    await this.#step({ type: "lost" });
    return this.#state.fruitless;
  }

  async #refused(failure: Refused): Promise<void> {
    if (this.#overtaking.refused(failure.reason)) return;
    await this.#step({ type: "refused", record: recordAfter(failure, this.#state.record) });
    throw failure.error;
  }

  async *#receive({ response }: ServerMessage, tier: Tier): AsyncGenerator<StreamEvent, void> {
    if (response.case === "seqnoAck") await this.#step({ type: "acknowledged", seqno: response.value });
    if (response.case === "welcomeMessage") {
      this.#overtaking.welcomed();
      const welcome = welcomeOf(response.value);
      await this.#refuseStale(welcome.serverNowMs);
      this.#keeper.heard(welcome.serverNowMs);
      await this.#step({ type: "welcome", ...welcome });
      this.#settings.onConnection(attachedOver(tier, response.value));
    }
    if (response.case !== "serverChunk") return;
    for (const effect of await this.#stepChunk(response.value)) {
      if (effect.type !== "surface") continue;
      this.#settings.gateway.tiers.useful(tier);
      this.#overtaking.moved();
      const event = toStreamEvent(response.value, effect.call ?? "new");
      if (event !== undefined) yield event;
      await this.#step({ type: "applied" });
    }
  }

  async #stepChunk(chunk: ServerChunk): Promise<readonly Effect[]> {
    if (chunk.eventId === "") return this.#step({ type: "unnumbered" });
    const chain = await nextChain(this.#state.received.chain, chunk);
    return this.#step({ type: "event", eventId: chunk.eventId, chain, event: kindOf(chunk) });
  }

  /** A stream that nobody came back to for longer than the lookback is not gone on with. By the server's clock on both ends. */
  async #refuseStale(serverNowMs: number | undefined): Promise<void> {
    const { heardAtMs } = this.#state.record;
    const lookbackMs = this.#lookbackMs;
    this.#lookbackMs = undefined; // only what happened before this life counts
    if (lookbackMs === undefined || serverNowMs === undefined || heardAtMs === undefined) return;
    if (serverNowMs - heardAtMs <= lookbackMs) return;
    await this.#step({ type: "refused", record: "forget" });
    throw new MillraceError("expired", "This stream was left too long ago to go on with it.", {
      hint: "Start a new stream, or give `autoResume` a longer `lookbackMs`.",
    });
  }

  /** Decides one input and performs what follows, after every earlier step is done. */
  #step(input: Input): Promise<readonly Effect[]> {
    const step = this.#line.then(async () => {
      const { state, effects } = decide(this.#state, input);
      this.#state = state;
      for (const effect of effects) await this.#perform(effect);
      return effects;
    });
    this.#line = step.catch(() => undefined); // whoever asked for the step gets its failure; the next one starts anew
    return step;
  }

  async #perform(effect: Effect): Promise<void> {
    const { record } = this.#state;
    switch (effect.type) {
      case "store":
        return this.#keeper.store(record);
      case "note":
        return this.#keeper.note(record);
      case "forget":
        return this.#keeper.forget();
      case "set_aside":
        await this.#keeper.setAside();
        return;
      case "send":
        return this.#outgoing.put(toWire(effect.message));
      case "surface":
        return; // done by whoever received it
      case "diverged":
        throw damagedRecord(effect.why, await this.#keeper.setAside());
      case "lost_for_good":
        throw lostForGood();
      default:
        effect satisfies never;
    }
  }

  get #isOver(): boolean {
    return this.#isClosed || this.#state.phase === "ended";
  }

  #callOf(callId: string): KnownCall | undefined {
    return this.#state.record.calls.findLast((known) => known.callId === callId);
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

/** What becomes of the record of a stream that was refused for good. */
function recordAfter({ error, reason }: Refused, { unacked }: StreamRecord): "forget" | "set_aside" | "keep" {
  if (reason === "diverged" || reason === "ticket_spent" || reason === "seqno_conflict") return "set_aside";
  if (error.code === "expired") return "forget";
  if (reason === "superseded" || reason === "foreign" || error.code === "unauthenticated") return "keep";
  // A request that was never accepted leaves nothing to come back to.
  return unacked.some(({ kind }) => kind === "request") ? "forget" : "keep";
}
