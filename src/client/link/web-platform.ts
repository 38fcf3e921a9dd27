/**
 * The parts of a browser that the record store needs, as our own types: this package is compiled with and without the DOM's
 * types, and its users need none.
 */
export interface WebRequest<T> {
  readonly result: T;
  readonly error: unknown;
  addEventListener(type: "success" | "error" | "upgradeneeded", listener: () => void): void;
}

export interface WebTable {
  get(key: string): WebRequest<unknown>;
  getAllKeys(): WebRequest<readonly unknown[]>;
  put(value: unknown, key: string): WebRequest<unknown>;
  delete(key: string): WebRequest<unknown>;
}

export interface WebTransaction {
  readonly error: unknown;
  objectStore(name: string): WebTable;
  addEventListener(type: "complete" | "error" | "abort", listener: () => void): void;
}

export interface WebDatabase {
  createObjectStore(name: string): unknown;
  transaction(
    tables: string[],
    mode: "readonly" | "readwrite",
    options?: { readonly durability?: "strict" },
  ): WebTransaction;
  addEventListener(type: "versionchange", listener: () => void): void;
  close(): void;
}

/** `IDBFactory`, as far as it is used. */
export interface WebDatabases {
  open(name: string, version: number): WebRequest<WebDatabase>;
}

/** `LockManager`, as far as it is used. */
export interface WebLocks {
  request(
    name: string,
    options: { readonly ifAvailable: true },
    holding: (lock: unknown) => Promise<void> | undefined,
  ): Promise<unknown>;
}

/** A key of WebCrypto. */
export type RecordKey = Awaited<ReturnType<typeof crypto.subtle.importKey>>;

/** The origin of the page that runs this; undefined outside one. */
export function pageOrigin(): string | undefined {
  return (globalThis as { readonly location?: { readonly origin?: string } }).location?.origin; // as the DOM has it
}

/** The platform's own; undefined where it has none. */
export function ownPlatform(): { readonly indexedDB: WebDatabases | undefined; readonly locks: WebLocks | undefined } {
  // Both are what the names stand for wherever they are defined at all.
  const platform = globalThis as {
    readonly indexedDB?: WebDatabases;
    readonly navigator?: { readonly locks?: WebLocks };
  };
  return { indexedDB: platform.indexedDB, locks: platform.navigator?.locks };
}
