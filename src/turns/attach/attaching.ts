import { bestEffort } from "../../base/async.ts";
import type { Clock } from "../../base/clock.ts";
import { MillraceError } from "../../base/errors.ts";
import type { TurnId } from "../../base/ids.ts";
import type { AttachedStream, AttachIntent, StreamMessage, StreamName } from "../../log/client-stream.ts";
import type { CancelledBy } from "../../log/event.ts";
import type { Admitted, LogWriter, StreamStore, TurnReading } from "../../log/store.ts";
import type { Reading } from "../read/reading.ts";
import { FailedBodies } from "../start/failed-series.ts";
import type { Launcher, PreparedTurn } from "../start/launcher.ts";
import { refuseRepeat } from "../start/refuse-repeat.ts";
import type { Starting } from "../start/starting.ts";
import type { StartTurn } from "../turns.ts";
import { type Attachment, type AttachOptions, neverSuperseded, type Sent, watchSuperseded } from "./attachment.ts";

export interface AttachingOptions {
  readonly store: StreamStore & TurnReading;
  readonly clock: Clock;
  readonly owner: string;
  readonly reading: Pick<Reading, "read" | "follow" | "noteReader">;
  readonly starting: Pick<Starting, "supersedeOthers">;
  readonly launcher: Launcher;
  readonly running: {
    cancel(turnId: TurnId, by: CancelledBy, stream: AttachedStream): Promise<boolean>;
  };
}

/** A message that starts a turn. `body` is the digest of what it asks. */
interface Sending {
  readonly stream: AttachedStream;
  readonly message: StreamMessage;
  readonly body: string | undefined;
}

/** Attaches clients to their streams, and starts the turns that the messages of a stream ask for. */
export class Attaching {
  readonly #options: AttachingOptions;
  readonly #store: StreamStore & TurnReading;
  readonly #clock: Clock;
  readonly #failedBodies: FailedBodies;

  constructor(options: AttachingOptions) {
    this.#options = options;
    this.#store = options.store;
    this.#clock = options.clock;
    this.#failedBodies = new FailedBodies(() => options.clock.now());
  }

  async attach(name: StreamName, intent: AttachIntent, { graceMs, ...proof }: AttachOptions = {}): Promise<Attachment> {
    const { reading, running } = this.#options;
    const stream = await this.#store.attachStream(name, intent, proof);
    const { superseded, stop } = intent === "observe" ? neverSuperseded : watchSuperseded(this.#store, stream);
    const { epoch, accepted, expiresAtMs, nextTicket, degraded } = stream;
    const turnIds = accepted.flatMap(({ turnId }) => turnId ?? []);
    if (intent !== "observe") {
      const last = turnIds.at(-1);
      // before the client learns when the stream expires; if the turn has expired, reading it fails
      if (last !== undefined) await bestEffort(reading.noteReader(last, graceMs));
      await this.#store.keepTogether(turnIds);
    }
    return {
      epoch,
      accepted,
      expiresAtMs,
      serverNowMs: this.#clock.now(),
      nextTicket,
      degraded,
      superseded,
      send: async (message, start, signal) => {
        if (superseded.aborted) return { outcome: "fenced", turn: undefined };
        const sent =
          start === undefined ? await this.#admit(stream, message) : await this.#start(stream, message, start, signal);
        if (sent.turn !== undefined) {
          turnIds.push(sent.turn.turnId);
          await bestEffort(this.#store.keepTogether(turnIds)); // the next attach does it too
        }
        return sent;
      },
      cancel: (turnId, by) => running.cancel(turnId, by, stream),
      read: (turnId, after, signal) => reading.read(turnId, after, signal, name),
      get: (turnId) => this.#store.get(turnId, name),
      follow: (turnId, after, signal) => reading.follow(turnId, after, signal, name),
      close: stop,
    };
  }

  async #admit(stream: AttachedStream, message: StreamMessage): Promise<Sent> {
    const { outcome } = await this.#store.admit(stream, message);
    return { outcome, turn: undefined };
  }

  async #start(stream: AttachedStream, message: StreamMessage, start: StartTurn, signal: AbortSignal): Promise<Sent> {
    const { body } = start;
    if (body !== undefined) refuseRepeat(this.#failedBodies.seriesOf(body), this.#clock.now(), "stream");
    const begun = (prepared: PreparedTurn) => this.#begun({ stream, message, body }, prepared, signal);
    return this.#options.launcher.starting(start, signal, begun);
  }

  async #begun({ stream, message, body }: Sending, prepared: PreparedTurn, signal: AbortSignal): Promise<Sent> {
    const { launcher, starting, owner } = this.#options;
    const watches = body === undefined ? [] : [this.#failedBodies.watch(body)];
    const admitting = this.#store.admit(stream, message, { turn: prepared.turn, owner });
    const launch = launcher.launch(prepared, admitting.then(writerOf), watches);
    const admitted = await admitting;
    if (admitted.outcome !== "admitted" || admitted.turn === undefined)
      return { outcome: admitted.outcome, turn: undefined };
    const { record } = admitted.turn;
    const begun = launcher.begin(record, launch, signal);
    await starting.supersedeOthers(record);
    return { outcome: "admitted", turn: begun };
  }
}

/** Throws where the message starts no turn after all. */
function writerOf(admitted: Admitted): LogWriter {
  if (admitted.outcome !== "admitted" || admitted.turn === undefined)
    throw new MillraceError("cancelled", "The message of this turn was not accepted.");
  return admitted.turn.writer;
}
