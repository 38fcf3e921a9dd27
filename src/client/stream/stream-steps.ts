import type { StreamUnifiedChatRequestWithToolsIdempotent as ClientMessage } from "../../proto/aiserver/v1/chat_pb.ts";
import type { RecordKeeper } from "../records/record-keeper.ts";
import { damagedRecord } from "../records/record-store.ts";
import { decide } from "./decide.ts";
import { toWire } from "./messages.ts";
import { Queue } from "./queue.ts";
import { lostForGood } from "./stream-error.ts";
import type { Effect, Input, StreamState } from "./stream-state.ts";

/** The state of a stream, and the only place that moves it: decides one input after another, and performs the effects. */
export class StreamSteps {
  readonly #keeper: RecordKeeper;
  #state: StreamState;
  #outgoing = new Queue<ClientMessage>();
  /** Steps follow one another: a step's stored data is durable before the next begins. */
  #line: Promise<unknown> = Promise.resolve();

  constructor(state: StreamState, keeper: RecordKeeper) {
    this.#state = state;
    this.#keeper = keeper;
  }

  get state(): StreamState {
    return this.#state;
  }

  /** Decides one input and performs its effects, after every earlier step is done. Rejects with the error of an effect. */
  take(input: Input): Promise<readonly Effect[]> {
    const step = this.#line.then(async () => {
      const { state, effects } = decide(this.#state, input);
      this.#state = state;
      for (const effect of effects) await this.#perform(effect);
      return effects;
    });
    this.#line = step.catch(() => undefined); // the caller of the step gets its failure; the next one starts anew
    return step;
  }

  /** The messages for a new connection, from now on; the earlier connection gets no more. */
  openOutgoing(): Queue<ClientMessage> {
    this.#outgoing = new Queue<ClientMessage>();
    return this.#outgoing;
  }

  /** Sends nothing more over the present connection. */
  closeOutgoing(): void {
    this.#outgoing.close();
  }

  /** Resolves once every step is done; never rejects. */
  async done(): Promise<void> {
    await this.#line;
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
        return; // its receiver did it
      case "diverged":
        throw damagedRecord(effect.why, await this.#keeper.setAside());
      case "lost_for_good":
        throw lostForGood();
      default:
        effect satisfies never;
    }
  }
}
