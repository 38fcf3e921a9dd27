import { randomBytes } from "node:crypto";
import { rmSync, writeFileSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { MillraceError } from "../../base/errors.ts";
import type { KeptFile } from "./held-file.ts";
import type { Readable } from "./open-to-read.ts";

export interface ReadableFileOptions {
  readonly path: string;
  /** Why it is not open for writing. */
  readonly why: MillraceError;
  /** Opens it for reading alone. */
  readonly openToRead: () => Readable;
  /** Opens it as usual. Throws `degraded` where that still fails. */
  readonly openToWrite: () => KeptFile;
}

/** Free space that SQLite needs to open a log for writing: its shared memory and a few frames; bytes. */
const roomBytes = 1 << 16;

/** A log on a disk that is full or cannot be written: it is read, and opened for writing once its disk takes writes again. */
export class ReadableFile implements KeptFile {
  readonly #options: ReadableFileOptions;
  #readable: Readable | undefined;
  #file: KeptFile | undefined;
  #why: MillraceError;

  /** Throws what `openToRead` throws. */
  constructor(options: ReadableFileOptions) {
    this.#options = options;
    this.#why = options.why;
    this.#readable = options.openToRead();
  }

  get database(): DatabaseSync {
    const database = this.#file?.database ?? this.#readable?.database;
    if (database === undefined) throw this.#why;
    return database;
  }

  /** As it was opened; empty once it can be written. */
  get lostKeys(): ReadonlySet<string> {
    return this.#readable?.lostKeys ?? new Set();
  }

  keep(): boolean {
    if (this.#file !== undefined) return this.#file.keep();
    const { path, openToRead, openToWrite } = this.#options;
    if (!hasRoom(path)) throw this.#why;
    this.#readable?.close(); // it may have the file alone
    this.#readable = undefined;
    try {
      this.#file = openToWrite();
      return true;
    } catch (error) {
      if (error instanceof MillraceError) this.#why = error;
      try {
        this.#readable = openToRead();
      } catch {
        // nothing of it can be read for now
      }
      throw this.#why;
    }
  }

  close(): void {
    this.#file?.close();
    this.#readable?.close();
  }
}

function hasRoom(path: string): boolean {
  const draft = `${path}.${randomBytes(6).toString("hex")}.draft`;
  try {
    writeFileSync(draft, Buffer.alloc(roomBytes), { mode: 0o600, flag: "wx" });
    return true;
  } catch {
    return false;
  } finally {
    try {
      rmSync(draft, { force: true });
    } catch {
      // a read-only disk has no such file
    }
  }
}
