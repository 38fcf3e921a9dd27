import { IDBFactory } from "fake-indexeddb";
import { describe, expect, test } from "vitest";
import type { RecordKey, WebDatabases, WebLocks } from "../link/web-platform.ts";
import { openIndexedDbRecordStore } from "./indexed-db-record-store.ts";
import { describeRecordStore } from "./record-store.conformance.ts";

/** The locks of a browser, for one page and those beside it. */
function fakeLocks(): WebLocks {
  const held = new Set<string>();
  return {
    async request(name, _options, holding) {
      if (held.has(name)) return holding(null);
      held.add(name);
      try {
        return await holding({ name });
      } finally {
        held.delete(name);
      }
    },
  };
}

interface Rows {
  readonly sealed: string;
  readonly aside: string;
}

function table(indexedDB: WebDatabases, name: keyof Rows) {
  const run = async <T>(work: (store: IDBObjectStoreLike) => { result: T; onsuccess: unknown }): Promise<T> => {
    const database = await new Promise<IDBDatabaseLike>((resolve) => {
      const opening = indexedDB.open("millrace-streams", 1);
      opening.addEventListener("success", () => resolve(opening.result as unknown as IDBDatabaseLike));
    });
    return new Promise((resolve) => {
      const request = work(database.transaction([name], "readwrite").objectStore(name));
      request.onsuccess = () => {
        database.close();
        resolve(request.result);
      };
    });
  };
  return {
    get: (key: string) => run((store) => store.get(key)) as Promise<Uint8Array>,
    put: (key: string, bytes: Uint8Array) => run((store) => store.put(bytes, key)),
    all: () => run((store) => store.getAll()) as Promise<Uint8Array[]>,
  };
}

interface IDBDatabaseLike {
  transaction(names: string[], mode: "readwrite"): { objectStore(name: string): IDBObjectStoreLike };
  close(): void;
}
interface IDBObjectStoreLike {
  get(key: string): { result: unknown; onsuccess: unknown };
  getAll(): { result: unknown; onsuccess: unknown };
  put(value: unknown, key: string): { result: unknown; onsuccess: unknown };
}

describeRecordStore("IndexedDB", () => {
  const indexedDB = new IDBFactory();
  const locks = fakeLocks();
  const open = () => openIndexedDbRecordStore({ indexedDB, locks });
  const sealed = table(indexedDB, "sealed");
  return {
    open,
    reopen: open,
    atRest: {
      read: (streamKey) => sealed.get(streamKey),
      write: async (streamKey, bytes) => void (await sealed.put(streamKey, bytes)),
      keptAside: async (_streamKey, bytes) =>
        (await table(indexedDB, "aside").all()).some((row) => Buffer.from(row).equals(bytes)),
    },
  };
});

describe("records in a browser's database", () => {
  test("need a database and locks, and say so", async () => {
    const forbidden = {
      open() {
        throw new DOMException("denied", "SecurityError");
      },
    };
    await expect(openIndexedDbRecordStore({ indexedDB: forbidden, locks: fakeLocks() })).rejects.toMatchObject({
      code: "degraded",
    });
  });

  test("are sealed with a key that cannot be read out", async () => {
    const indexedDB = new IDBFactory();
    await openIndexedDbRecordStore({ indexedDB, locks: fakeLocks() });
    const key = (await table(indexedDB, "keys" as keyof Rows).get("records")) as unknown as RecordKey;
    expect(key.extractable).toBe(false);
  });
});
