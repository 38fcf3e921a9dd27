import { createHash } from "node:crypto";
import type { Clock } from "../../base/clock.ts";
import { isMillraceError } from "../../base/errors.ts";
import type { AttachedStream, AttachIntent, AttachProof, StreamName } from "../client-stream.ts";
import { clearCodec, type LogCodec } from "../medium/codec.ts";
import { openMemoryLog } from "../memory/open-memory-log.ts";
import type { Retention } from "../retention.ts";
import type { LogStore, StreamStore } from "../store.ts";
import { BoundedSet } from "./bounded-set.ts";
import type { StoreHealth } from "./store-health.ts";

/** Streams that are remembered as stored; the oldest are forgotten first. */
const mostRemembered = 10_000;

/**
 * Knows where the streams of clients are: each stays where it was made. While the store fails, a new stream is made in memory. A
 * stream that the store holds, or may hold, is `degraded` for now; it never gets a second one in its place.
 */
export class LiveStreams {
  readonly #health: StoreHealth;
  /** Those that began while the store failed. */
  readonly memory: LogStore;
  /** Those that the store was seen to hold: digests of their names. */
  readonly #stored = new BoundedSet<string>(mostRemembered);

  constructor(health: StoreHealth, clock: Clock, retention: Retention, codec: LogCodec = clearCodec) {
    this.#health = health;
    this.memory = openMemoryLog({ clock, codec, retention });
  }

  homeOf({ degraded }: Pick<AttachedStream, "degraded">): LogStore {
    return degraded ? this.memory : this.#health.store;
  }

  async attach(name: StreamName, intent: AttachIntent, proof?: AttachProof): Promise<AttachedStream> {
    if (await this.#holds(name)) return this.#attachHere(name, intent, proof);
    const id = idOf(name);
    const mayBeStored = this.#health.degradedBy === undefined || intent !== "create" || this.#stored.has(id);
    if (mayBeStored || (await this.#storeHolds(name))) {
      const stored = await this.#health.orDegraded(() => this.#health.store.attachStream(name, intent, proof));
      if (stored !== undefined) {
        this.#stored.add(id);
        return stored;
      }
      if (intent !== "create" || this.#stored.has(id) || (await this.#storeHolds(name))) throw this.#health.why();
    }
    return this.#attachHere(name, intent, proof);
  }

  async #attachHere(name: StreamName, intent: AttachIntent, proof?: AttachProof): Promise<AttachedStream> {
    return { ...(await this.memory.attachStream(name, intent, proof)), degraded: true };
  }

  #holds(name: StreamName): Promise<boolean> {
    return isIn(this.memory, name);
  }

  /** A store that cannot be written may be read still. */
  async #storeHolds(name: StreamName): Promise<boolean> {
    return (await this.#health.orDegraded(() => isIn(this.#health.store, name))) === true;
  }
}

async function isIn(store: StreamStore, name: StreamName): Promise<boolean> {
  try {
    await store.attachStream(name, "observe");
    return true;
  } catch (error) {
    if (isMillraceError(error) && error.code === "expired") return false;
    throw error;
  }
}

function idOf({ caller, name, clientKey }: StreamName): string {
  return createHash("sha256")
    .update(JSON.stringify([caller, name, clientKey?.reveal()]))
    .digest("base64url");
}
