import { MillraceError } from "../../base/errors.ts";
import { ownPlatform, type WebDatabases, type WebLocks } from "../link/web-platform.ts";
import type { StreamRecord } from "./record.ts";
import { openRecordDatabase, type RecordDatabase } from "./record-database.ts";
import { atStore, damagedRecord, type OwnedRecord, type RecordStore, recordTaken } from "./record-store.ts";
import { openRecord, peekRecord, sealRecord, UntrustedRecord } from "./sealed-record.ts";

export interface IndexedDbStoreOptions {
  /** Name of the database; applications on one origin that do not share their streams take different ones. */
  readonly name?: string;
  /** The browser's own by default. */
  readonly indexedDB?: WebDatabases;
  /** As above: a held lock shows that its page is alive. */
  readonly locks?: WebLocks;
}

/**
 * Records in a browser's database, sealed with a key that never leaves it. A tab that is closed or crashes loses its streams to the
 * next one at once.
 *
 * @throws MillraceError `degraded` where the page has no database or no locks: outside a secure context (https, or loopback), or
 * where the user forbids it.
 */
export async function openIndexedDbRecordStore(options: IndexedDbStoreOptions = {}): Promise<RecordStore> {
  const own = ownPlatform();
  const { name = "millrace-streams", indexedDB = own.indexedDB, locks = own.locks } = options;
  if (indexedDB === undefined || locks === undefined) throw unavailable(undefined);
  const database = await openRecordDatabase(indexedDB, name).catch((error: unknown) => {
    throw unavailable(error);
  });
  return {
    survivesRestart: true,
    list: () => database.keys(),
    peek: async (streamKey) => {
      const found = await database.get(streamKey);
      return found && peekRecord(database.key, found.bytes, streamKey);
    },
    take: async (streamKey) => {
      const release = await holdLock(locks, `${name}/${streamKey}`);
      return release && ownedRecord(database, streamKey, release);
    },
  };
}

function ownedRecord(database: RecordDatabase, streamKey: string, releaseLock: () => void): OwnedRecord {
  let generation = 0;
  let isOwner = true;
  const requireOwner = () => {
    if (!isOwner) throw recordTaken();
  };
  const setAside = async () => {
    await database.setAside(streamKey);
    return `in the database, under "aside", as ${streamKey}`;
  };
  return {
    async read() {
      requireOwner();
      const found = await database.get(streamKey);
      if (found === undefined) return undefined;
      try {
        const opened = await openRecord(database.key, found.bytes, { streamKey, atLeast: found.generation });
        generation = opened.generation;
        return opened.record;
      } catch (error) {
        if (error instanceof UntrustedRecord) throw damagedRecord(error.message, await setAside());
        throw error;
      }
    },
    async save(record: StreamRecord) {
      requireOwner();
      const next = generation + 1;
      const bytes = await sealRecord(database.key, record, next);
      await atStore(() => database.put(streamKey, { bytes, generation: next }));
      generation = next;
    },
    async remove() {
      requireOwner();
      await atStore(() => database.delete(streamKey));
    },
    async setAside() {
      requireOwner();
      return setAside();
    },
    release() {
      isOwner = false;
      releaseLock();
      return Promise.resolve();
    },
  };
}

/** Holds a lock until the returned function is called; undefined while another page holds it. */
function holdLock(locks: WebLocks, name: string): Promise<(() => void) | undefined> {
  return new Promise((resolve, reject) => {
    const held = locks.request(name, { ifAvailable: true }, (lock) => {
      if (lock !== null) return new Promise<void>((release) => resolve(release));
      resolve(undefined);
      return undefined;
    });
    held.catch(reject);
  });
}

function unavailable(cause: unknown): MillraceError {
  return new MillraceError("degraded", "This page has no database to keep streams in.", {
    hint: "Open it over https or from loopback and let it store data, or keep records in memory.",
    cause,
  });
}
