import type { Clock } from "../../base/clock.ts";
import type { StreamRecord } from "./record.ts";
import type { OwnedRecord } from "./record-store.ts";

/** Saves a stream's record: at once if a later step depends on it, and now and then for mere progress. */
export class RecordKeeper {
  readonly #owned: OwnedRecord;
  readonly #clock: Clock;
  readonly #noteEveryMs: number;
  #unsaved: StreamRecord | undefined;
  #savedAtMs: number;
  /** The server's clock minus our monotonic clock, which never jumps. */
  #serverOffsetMs: number | undefined;

  constructor(owned: OwnedRecord, clock: Clock, noteEveryMs: number) {
    this.#owned = owned;
    this.#clock = clock;
    this.#noteEveryMs = noteEveryMs;
    this.#savedAtMs = clock.monotonic();
  }

  /** Notes the server's time from a message. Epoch ms. */
  heard(serverNowMs: number | undefined): void {
    if (serverNowMs !== undefined) this.#serverOffsetMs = serverNowMs - this.#clock.monotonic();
  }

  async store(record: StreamRecord): Promise<void> {
    const nowMs = this.#clock.monotonic();
    const offsetMs = this.#serverOffsetMs;
    this.#unsaved = undefined;
    this.#savedAtMs = nowMs;
    await this.#owned.save(offsetMs === undefined ? record : { ...record, heardAtMs: Math.round(offsetMs + nowMs) });
  }

  async note(record: StreamRecord): Promise<void> {
    this.#unsaved = record;
    if (this.#clock.monotonic() - this.#savedAtMs >= this.#noteEveryMs) await this.store(record);
  }

  async forget(): Promise<void> {
    this.#unsaved = undefined;
    await this.#owned.remove();
  }

  /** Sets the record aside, and returns its new place. */
  setAside(): Promise<string> {
    this.#unsaved = undefined;
    return this.#owned.setAside();
  }

  /** Saves the noted state, and releases the record. */
  async close(): Promise<void> {
    try {
      if (this.#unsaved !== undefined) await this.store(this.#unsaved);
    } finally {
      await this.#owned.release();
    }
  }
}
