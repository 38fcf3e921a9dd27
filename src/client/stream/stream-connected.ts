import { MillraceError } from "../../base/errors.ts";
import type { StreamUnifiedChatResponseWithTools as ServerChunk } from "../../proto/aiserver/v1/chat_pb.ts";
import { nextChain } from "../chain.ts";
import { attachedOver, type Delivery, type OpenConnection } from "../link/connections.ts";
import type { StreamRecord } from "../records/record.ts";
import type { RecordKeeper } from "../records/record-keeper.ts";
import { attachHeaders, welcomeOf } from "../tiers/attach.ts";
import type { Attach } from "../tiers/tier.ts";
import { Takeovers } from "./overtaking.ts";
import type { RefusalReport } from "./stream-error.ts";
import { eventKind, type StreamEvent, toStreamEvent } from "./stream-event.ts";
import type { StreamSettings } from "./stream-options.ts";
import type { Effect } from "./stream-state.ts";
import type { StreamSteps } from "./stream-steps.ts";

/** A stream as its connections see it: the content of an attach, the handling of messages, and of the connection's end. */
export class StreamLink implements OpenConnection {
  readonly #steps: StreamSteps;
  readonly #keeper: RecordKeeper;
  readonly #settings: StreamSettings;
  readonly #overtaking = new Takeovers();
  #lookbackMs: number | undefined;

  constructor(steps: StreamSteps, keeper: RecordKeeper, settings: StreamSettings) {
    this.#steps = steps;
    this.#keeper = keeper;
    this.#settings = settings;
    this.#lookbackMs = settings.lookbackMs;
  }

  async attach(): Promise<Attach> {
    await this.#steps.take({ type: "attach", overtaken: this.#overtaking.isOvertaken });
    const outgoing = this.#steps.openOutgoing();
    return {
      headers: attachHeaders(this.#steps.state, this.#settings.grace),
      requestId: crypto.randomUUID(),
      outgoing: (until: AbortSignal) => outgoing.read(until),
    };
  }

  isOver(): boolean {
    return this.#steps.state.phase === "ended";
  }

  async lost(): Promise<number> {
    this.#steps.closeOutgoing();
    await this.#steps.take({ type: "lost" });
    return this.#steps.state.fruitless;
  }

  async refused(failure: RefusalReport): Promise<void> {
    if (this.#overtaking.refused(failure.reason)) return;
    await this.#steps.take({ type: "refused", record: recordAfter(failure, this.#steps.state.record) });
    throw failure.error;
  }

  /** The application's events for a message of the gateway. The application has applied an event when it asks for the next one. */
  async *receive({ message: { response }, tier }: Delivery): AsyncGenerator<StreamEvent, void> {
    if (response.case === "seqnoAck") await this.#steps.take({ type: "acknowledged", seqno: response.value });
    if (response.case === "welcomeMessage") {
      this.#overtaking.welcomed();
      const welcome = welcomeOf(response.value);
      await this.#refuseStale(welcome.serverNowMs);
      this.#keeper.heard(welcome.serverNowMs);
      await this.#steps.take({ type: "welcome", ...welcome });
      this.#settings.onConnection(attachedOver(tier, response.value));
    }
    if (response.case !== "serverChunk") return;
    for (const effect of await this.#takeChunk(response.value)) {
      if (effect.type !== "surface") continue;
      this.#settings.gateway.tiers.useful(tier);
      this.#overtaking.moved();
      const event = toStreamEvent(response.value, effect.call ?? "new");
      if (event !== undefined) yield event;
      await this.#steps.take({ type: "applied" });
    }
  }

  async #takeChunk(chunk: ServerChunk): Promise<readonly Effect[]> {
    if (chunk.eventId === "") return this.#steps.take({ type: "unnumbered" });
    const chain = await nextChain(this.#steps.state.received.chain, chunk);
    return this.#steps.take({ type: "event", eventId: chunk.eventId, chain, event: eventKind(chunk) });
  }

  /** Refuses a stream that was left for longer than the lookback, measured by the server's clock. */
  async #refuseStale(serverNowMs: number | undefined): Promise<void> {
    const { heardAtMs } = this.#steps.state.record;
    const lookbackMs = this.#lookbackMs;
    this.#lookbackMs = undefined; // only what happened before this life counts
    if (lookbackMs === undefined || serverNowMs === undefined || heardAtMs === undefined) return;
    if (serverNowMs - heardAtMs <= lookbackMs) return;
    await this.#steps.take({ type: "refused", record: "forget" });
    throw new MillraceError("expired", "This stream was left too long ago to continue it.", {
      hint: "Start a new stream, or give `autoResume` a longer `lookbackMs`.",
    });
  }
}

/** The fate of a stream's record after a final refusal. */
function recordAfter({ error, reason }: RefusalReport, { unacked }: StreamRecord): "forget" | "set_aside" | "keep" {
  if (reason === "diverged" || reason === "ticket_spent" || reason === "seqno_conflict") return "set_aside";
  if (error.code === "expired") return "forget";
  if (reason === "superseded" || reason === "foreign" || error.code === "unauthenticated") return "keep";
  // A request that was never accepted leaves nothing to come back to.
  return unacked.some(({ kind }) => kind === "request") ? "forget" : "keep";
}
