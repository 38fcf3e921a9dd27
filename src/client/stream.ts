import { MillraceError } from "../base/errors.ts";
import type {
  StreamUnifiedChatRequestWithToolsIdempotent as ClientMessage,
  StreamUnifiedChatResponseWithTools as ServerChunk,
  StreamUnifiedChatResponseWithToolsIdempotent as ServerMessage,
} from "../proto/aiserver/v1/chat_pb.ts";
import { AttachFailed, attachHeaders, openAttach, welcomeOf } from "./attach.ts";
import { waitBefore } from "./backoff.ts";
import { nextChain } from "./chain.ts";
import { decide } from "./decide.ts";
import { encodeAbort, encodeClose, encodeToolResult, type ToolResult, toWire } from "./messages.ts";
import { Queue } from "./queue.ts";
import type { KnownCall } from "./record.ts";
import { RecordKeeper } from "./record-keeper.ts";
import { damagedRecord, type OwnedRecord } from "./record-store.ts";
import type { ReliableStream } from "./reliable-stream.ts";
import { type Failure, failureOf, isUnreachable, type Lost } from "./stream-error.ts";
import { kindOf, type StreamEvent, type ToolCallEvent, toStreamEvent } from "./stream-event.ts";
import type { StreamSettings } from "./stream-options.ts";
import type { Effect, Input, StreamState } from "./stream-state.ts";
import type { Tier } from "./tier.ts";
import type { TierFinding } from "./tier-choice.ts";
import { Silence } from "./until-silent.ts";

/** What the model is told of a call that may or may not have run. */
const unknownOutcome =
  "The outcome of this call is unknown: the program that ran the tool ended while it ran. It was not run again.";

/** How often another attach may take over before it is taken for somebody else's, who goes on with the stream. */
const overtakingsBorne = 3;

/** The driver around `decide`: performs what it says, over one connection after another. */
export class Stream implements ReliableStream {
  readonly #settings: StreamSettings;
  readonly #signal: AbortSignal;
  readonly #keeper: RecordKeeper;
  #state: StreamState;
  #outgoing = new Queue<ClientMessage>();
  /** Steps follow one another: what one stores is durable before the next begins. */
  #line: Promise<unknown> = Promise.resolve();
  #isClosed = false;
  /** What the last loss asked for. */
  #asked: Pick<Lost, "retryAfterMs" | "why"> = { retryAfterMs: 0, why: undefined };
  #lookbackMs: number | undefined;
  /** Times in a row that another attach took over, without anything new in between. */
  #overtakings = 0;
  #isOvertaken = false;

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

  cancel(): Promise<void> {
    return this.give({ type: "given", kind: "abort", payload: encodeAbort() });
  }

  close(): Promise<void> {
    return this.give({ type: "given", kind: "close", payload: encodeClose() });
  }

  /** Numbers and stores something to send, then sends it if there is a connection. */
  async give(input: Extract<Input, { type: "given" }>): Promise<void> {
    if (this.#isClosed || this.#state.phase === "ended") throw over();
    await this.#step(input);
  }

  async leave(): Promise<void> {
    this.#isClosed = true;
    await this.#line;
    await this.#keeper.close();
  }

  async *#run(): AsyncGenerator<StreamEvent, void> {
    if (this.#isClosed) throw over();
    const { circuit } = this.#settings.gateway;
    try {
      for (;;) {
        this.#signal.throwIfAborted();
        if ((await circuit.enter(this.#signal)) === "go") yield* this.#attach();
        if (this.#state.phase === "ended") return;
        await this.#step({ type: "lost" });
        await this.#wait();
      }
    } finally {
      this.#outgoing.close();
      await this.leave();
    }
  }

  /** One connection, to its end. Throws what is final; returns when the stream ended or another connection is due. */
  async *#attach(): AsyncGenerator<StreamEvent, void> {
    const { gateway, clock, patience, grace } = this.#settings;
    const tier = gateway.tiers.current;
    await this.#step({ type: "attach", overtaken: this.#isOvertaken });
    const outgoing = new Queue<ClientMessage>();
    this.#outgoing = outgoing;
    const attach = {
      headers: attachHeaders(this.#state, grace),
      requestId: crypto.randomUUID(),
      outgoing: (until: AbortSignal) => outgoing.read(until),
    };
    let finding: TierFinding | undefined;
    const isOver = () => this.#state.phase === "ended";
    const found = (what: TierFinding) => {
      finding = what;
      gateway.tiers.report(tier, what);
      gateway.circuit.report(what !== "unreachable" && what !== "failed" && what !== "held_back");
    };
    try {
      for await (const message of openAttach(tier, attach, { clock, patience, isOver }, this.#signal)) {
        if (isOver()) continue; // what comes after the end is not for the application
        if (message.response.case === "welcomeMessage" && finding === undefined) found("welcomed");
        yield* this.#receive(message, tier);
      }
      if (isOver()) return;
      this.#asked = { retryAfterMs: 0, why: undefined };
      if (finding === undefined) found("failed");
    } catch (error) {
      if (!(error instanceof AttachFailed)) throw error;
      if (isOver()) return;
      this.#signal.throwIfAborted();
      if (error.cause instanceof Silence) found(finding === undefined ? "held_back" : "silent");
      else await this.#failed(failureOf(error.cause), finding === undefined ? found : () => undefined);
    } finally {
      outgoing.close();
      if (finding === undefined) gateway.circuit.leave();
    }
  }

  async #failed(failure: Failure, found: (what: TierFinding) => void): Promise<void> {
    switch (failure.kind) {
      case "refused":
        found("welcomed"); // somebody is there and understands
        if (this.#mayBeOurOwn(failure.reason)) return;
        await this.#step({ type: "refused", record: this.#afterRefusal(failure) });
        throw failure.error;
      case "no_such_tier":
        found("missing");
        if (this.#settings.gateway.tiers.allMissing) {
          throw new MillraceError("upstream_failed", "What answers there does not speak the stream protocol.", {
            hint: "Give the gateway's own address, as `millrace serve` prints it; an old gateway must be updated.",
            cause: failure.error,
          });
        }
        return;
      case "lost":
        this.#asked = failure;
        found(isUnreachable(failure.error) ? "unreachable" : "failed");
        return;
      default:
        failure satisfies never;
    }
  }

  /**
   * Whether what took the stream over, or spent its ticket, may be an attach of this very stream that was under way for long
   * (of a connection given up, or of a process that died): the next attach then brings the ticket that the two share.
   */
  #mayBeOurOwn(reason: string | undefined): boolean {
    const wasOvertaken = this.#isOvertaken;
    this.#isOvertaken = reason === "superseded" || (reason === "ticket_spent" && !wasOvertaken);
    return this.#isOvertaken && this.#overtakings++ < overtakingsBorne;
  }

  #afterRefusal({ error, reason }: Extract<Failure, { kind: "refused" }>): "forget" | "set_aside" | "keep" {
    if (reason === "diverged" || reason === "ticket_spent" || reason === "seqno_conflict") return "set_aside";
    if (error.code === "expired") return "forget";
    if (reason === "superseded" || error.code === "unauthenticated") return "keep";
    // A request that was never accepted leaves nothing to come back to.
    return this.#state.record.unacked.some(({ kind }) => kind === "request") ? "forget" : "keep";
  }

  async *#receive({ response }: ServerMessage, tier: Tier): AsyncGenerator<StreamEvent, void> {
    if (response.case === "seqnoAck") await this.#step({ type: "acknowledged", seqno: response.value });
    if (response.case === "welcomeMessage") {
      this.#isOvertaken = false;
      const welcome = welcomeOf(response.value);
      await this.#refuseStale(welcome.serverNowMs);
      this.#keeper.heard(welcome.serverNowMs);
      await this.#step({ type: "welcome", ...welcome });
      const { degraded, expiresAtMs } = welcome;
      this.#settings.onConnection({ state: "attached", tier: tier.name, degraded, expiresAtMs });
    }
    if (response.case !== "serverChunk") return;
    for (const effect of await this.#stepChunk(response.value)) {
      if (effect.type !== "surface") continue;
      this.#settings.gateway.tiers.useful(tier);
      this.#overtakings = 0;
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
    throw new MillraceError("expired", "This stream was left too long ago to go on with it.");
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
        throw new MillraceError(
          "degraded",
          "The connection was lost, and the gateway had said that it could not resume.",
        );
      default:
        effect satisfies never;
    }
  }

  async #wait(): Promise<void> {
    const { clock, backoff, random, gateway, onConnection } = this.#settings;
    const { fruitless } = this.#state;
    const waitMs = waitBefore(Math.max(1, fruitless), backoff, random, this.#asked.retryAfterMs);
    if (waitMs === undefined) {
      throw new MillraceError("upstream_failed", "The gateway cannot be reached, or nothing new comes from it.", {
        hint: "Start it with `millrace serve`; the stream goes on from where it was.",
      });
    }
    onConnection({ state: "reconnecting", tier: gateway.tiers.current.name, waitMs, fruitless, why: this.#asked.why });
    await clock.sleep(waitMs, this.#signal);
  }

  #requireCall(callId: string, ...states: readonly KnownCall["state"][]): void {
    if (this.#isClosed || this.#state.phase === "ended") throw over();
    const call = this.#state.record.calls.findLast((known) => known.callId === callId);
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
