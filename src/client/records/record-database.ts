import type { RecordKey, WebDatabases, WebRequest, WebTable, WebTransaction } from "../link/web-platform.ts";

/** A sealed record, and the generation that was saved last: kept apart, so that an older copy of the bytes shows. */
export interface SealedRow {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly generation: number;
}

/** The tables of a record store in IndexedDB, as promises. */
export interface RecordDatabase {
  /** Made once in this database: it can be used here, and not be read out. */
  readonly key: RecordKey;
  keys(): Promise<readonly string[]>;
  get(streamKey: string): Promise<SealedRow | undefined>;
  put(streamKey: string, row: SealedRow): Promise<void>;
  delete(streamKey: string): Promise<void>;
  setAside(streamKey: string): Promise<void>;
}

const version = 1;
const keyName = "records";
const tables = ["keys", "sealed", "generations", "aside"];
type Table = (name: "keys" | "sealed" | "generations" | "aside") => WebTable;

/** Opens or creates the database. Rejects with IndexedDB's error. */
export async function openRecordDatabase(indexedDB: WebDatabases, name: string): Promise<RecordDatabase> {
  const opening = indexedDB.open(name, version);
  opening.addEventListener("upgradeneeded", () => {
    for (const table of tables) opening.result.createObjectStore(table);
  });
  const database = await done(opening);
  // A newer version of the application in another tab must be able to open it.
  database.addEventListener("versionchange", () => database.close());

  const read = <T>(ask: (table: Table) => Promise<T>): Promise<T> => {
    const transaction = database.transaction(tables, "readonly");
    return ask((table) => transaction.objectStore(table));
  };
  const write = async (change: (table: Table) => unknown): Promise<void> => {
    const transaction = database.transaction(tables, "readwrite", { durability: "strict" });
    await Promise.all([change((table) => transaction.objectStore(table)), committed(transaction)]);
  };

  return {
    key: await ownKey(read, write),
    keys: async () =>
      (await read((table) => done(table("sealed").getAllKeys()))).filter((key) => typeof key === "string"),
    get: (streamKey) =>
      read(async (table) => {
        const [bytes, generation] = await Promise.all([
          done(table("sealed").get(streamKey)),
          done(table("generations").get(streamKey)),
        ]);
        if (!(bytes instanceof Uint8Array)) return undefined;
        // Both are written together: another program wrote a record that has no generation.
        return { bytes: new Uint8Array(bytes), generation: typeof generation === "number" ? generation : Infinity };
      }),
    put: (streamKey, { bytes, generation }) =>
      write((table) => {
        table("sealed").put(bytes, streamKey);
        table("generations").put(generation, streamKey);
      }),
    delete: (streamKey) =>
      write((table) => {
        table("sealed").delete(streamKey);
        table("generations").delete(streamKey);
      }),
    setAside: (streamKey) =>
      write(async (table) => {
        const [bytes, earlier] = await Promise.all([
          done(table("sealed").get(streamKey)),
          done(table("aside").getAllKeys()),
        ]);
        table("aside").put(bytes, `${streamKey}/${earlier.length + 1}`);
        table("sealed").delete(streamKey);
        table("generations").delete(streamKey);
      }),
  };
}

async function ownKey(
  read: <T>(ask: (table: Table) => Promise<T>) => Promise<T>,
  write: (change: (table: Table) => unknown) => Promise<void>,
): Promise<RecordKey> {
  const made = await crypto.subtle.generateKey({ name: "AES-GCM", length: 256 }, false, ["encrypt", "decrypt"]);
  await write(async (table) => {
    // Two tabs may come here at once: the first one's key stays.
    if ((await done(table("keys").get(keyName))) === undefined) table("keys").put(made, keyName);
  });
  return (await read((table) => done(table("keys").get(keyName)))) as RecordKey; // written above, by this tab or another
}

function done<T>(request: WebRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.addEventListener("success", () => resolve(request.result));
    request.addEventListener("error", () => reject(failureOf(request)));
  });
}

function committed(transaction: WebTransaction): Promise<void> {
  return new Promise((resolve, reject) => {
    transaction.addEventListener("complete", () => resolve());
    transaction.addEventListener("error", () => reject(failureOf(transaction)));
    transaction.addEventListener("abort", () => reject(failureOf(transaction)));
  });
}

function failureOf({ error }: { readonly error: unknown }): Error {
  return error instanceof Error ? error : new Error("The database gave up.", { cause: error });
}
