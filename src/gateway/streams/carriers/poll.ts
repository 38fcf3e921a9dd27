import { toBinary } from "@bufbuild/protobuf";
import { bestEffort, orAborted, within } from "../../../base/async.ts";
import type { Clock } from "../../../base/clock.ts";
import {
  type StreamUnifiedChatResponseWithToolsIdempotent as ServerMessage,
  StreamUnifiedChatResponseWithToolsIdempotentSchema as ServerMessageSchema,
} from "../../../proto/aiserver/v1/chat_pb.ts";
import { encodeInterruption } from "../../dialects/idempotent/errors.ts";

/** How long a poll waits for its first message, and then for each further one; how long an attach lives without a poll; ms. */
const waitMs = 15_000;
const lingerMs = 5;
const idleMs = 30_000;

/** Most messages in the answer to one poll, so that a long replay does not fill memory. */
const mostMessages = 256;
const mostBytes = 256 * 1024;

/** One message of a poll, or its end; `data` is hexadecimal text. */
export interface PollAnswer {
  readonly seqno: bigint;
  readonly data: string;
  readonly eof?: boolean;
}

/** A way down that is taken in pieces, by calls that end as soon as they have answered the waiting messages. */
export class PolledAttach {
  readonly #down: AsyncGenerator<ServerMessage, void>;
  readonly #clock: Clock;
  readonly #stop: () => void;
  #pending: Promise<IteratorResult<ServerMessage, void>> | undefined;
  #idle = new AbortController();
  #seqno = 0n;
  #polled = false;

  /** `stop` ends every wait of the way down. It may be called after the end, too. */
  constructor(down: AsyncGenerator<ServerMessage, void>, clock: Clock, stop: () => void) {
    this.#down = down;
    this.#clock = clock;
    this.#stop = stop;
  }

  /** The messages that are waiting now; waits for one message if there is none. Throws if the way down ended with an error. */
  async *poll(signal: AbortSignal): AsyncGenerator<PollAnswer, void> {
    if (this.#polled) throw encodeInterruption("Another poll of this attach is open.");
    this.#polled = true;
    this.#idle.abort();
    let goesOn = false;
    try {
      let bytes = 0;
      for (let count = 0; count < mostMessages && bytes < mostBytes; count++) {
        const result = await this.#next(count === 0 ? waitMs : lingerMs, signal);
        if (result === undefined) break;
        const data = result.done === true ? undefined : toBinary(ServerMessageSchema, result.value);
        bytes += data?.length ?? 0;
        yield { seqno: this.#seqno++, data: Buffer.from(data ?? []).toString("hex"), ...(data ? {} : { eof: true }) };
        if (data === undefined) return;
      }
      goesOn = true;
    } finally {
      this.#polled = false;
      if (goesOn) this.#waitForPoll();
      else this.end();
    }
  }

  /** Ends the way down: because it is over, its client stopped polling, or a poll was cut and its delivery is unknown. */
  end(): void {
    this.#idle.abort();
    this.#stop();
    void bestEffort(this.#down.return());
  }

  /** As `end`, after the open poll, if there is one, has answered its client. */
  endSoon(): void {
    if (!this.#polled) this.end();
  }

  /** The next message, or undefined if none comes in time; a later message is then the first of the next poll. */
  async #next(ms: number, signal: AbortSignal): Promise<IteratorResult<ServerMessage, void> | undefined> {
    this.#pending ??= this.#down.next();
    this.#pending.catch(() => undefined); // its taker gets the failure
    const result = await orAborted(within(this.#pending, ms, this.#clock), signal);
    if (result !== undefined) this.#pending = undefined;
    return result;
  }

  #waitForPoll(): void {
    this.#idle = new AbortController();
    void bestEffort(this.#clock.sleep(idleMs, this.#idle.signal).then(() => this.end()));
  }
}
