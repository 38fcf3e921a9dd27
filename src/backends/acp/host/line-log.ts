import { createCipheriv, createDecipheriv, createSecretKey, randomBytes } from "node:crypto";
import { ftruncateSync, openSync, readSync, writeSync } from "node:fs";
import { removeSync } from "../../../base/node/move-file.ts";

const algorithm = "aes-256-gcm";
const tagBytes = 16;
/** The file is rewritten once so many bytes at its beginning are dropped, and they are more than the rest. */
const rewriteBytes = 1024 * 1024;

/**
 * The lines that an agent wrote, in a file. The file has no name once it is open, and its key is in this process's memory alone: it ends
 * with the process, and nobody else can read it. A line that the disk does not take stays in memory. Lines are numbered from 0 and are read
 * by number.
 */
export class LineLog {
  /** Its descriptor; the file has no name. */
  readonly file: number;
  /** Not as bare bytes: a cipher takes a key object four times as fast. */
  readonly #key = createSecretKey(randomBytes(32));
  /** Where each line begins that is kept; one in memory takes no room there. */
  #places: number[] = [];
  readonly #inMemory = new Map<number, string>();
  #memoryBytes = 0;
  #first = 0;
  #end = 0;
  /** Those that were appended last. */
  #latest: readonly string[] = [];

  readonly #write: typeof writeSync;

  /** Makes the file; throws as the system does. `write` is the system's, but for a test. */
  constructor(path: string, write: typeof writeSync = writeSync) {
    this.#write = write;
    this.file = openSync(path, "wx+", 0o600);
    removeSync(path);
  }

  /** The number of the first line that is kept. */
  get first(): number {
    return this.#first;
  }

  /** The number of the next line. */
  get next(): number {
    return this.#first + this.#places.length;
  }

  /** Of the lines that are kept. */
  get bytes(): number {
    return this.#end - (this.#places[0] ?? this.#end) + this.#memoryBytes;
  }

  /** Of the lines that are kept in memory, because the disk did not take them. */
  get memoryBytes(): number {
    return this.#memoryBytes;
  }

  /** Lines that came together are one write. */
  append(lines: readonly string[]): void {
    const sealed = lines.map((line, index) => this.#seal(line, this.next + index));
    let at = this.#end;
    try {
      this.#writeAll(Buffer.concat(sealed), at);
      for (const { length } of sealed) {
        this.#places.push(at);
        at += length;
      }
      this.#end = at;
    } catch {
      for (const [index, line] of lines.entries()) {
        this.#inMemory.set(this.next, line);
        this.#memoryBytes += sealed[index]?.length ?? 0;
        this.#places.push(at);
      }
    }
    this.#latest = lines;
  }

  /** A line that is kept. */
  read(number: number): string {
    const inMemory = this.#latest[number - (this.next - this.#latest.length)] ?? this.#inMemory.get(number);
    if (inMemory !== undefined) return inMemory;
    const at = number - this.#first;
    const from = this.#places[at];
    if (from === undefined) throw new RangeError(`line ${number} is not kept`);
    const sealed = readAll(this.file, from, (this.#places[at + 1] ?? this.#end) - from);
    const decipher = createDecipheriv(algorithm, this.#key, nonce(number));
    decipher.setAuthTag(sealed.subarray(-tagBytes));
    return decipher.update(sealed.subarray(0, -tagBytes), undefined, "utf8") + decipher.final("utf8");
  }

  /** Drops the lines with lower numbers. */
  drop(before: number): void {
    const count = Math.min(before, this.next) - this.#first;
    if (count <= 0) return;
    this.#places = this.#places.slice(count);
    this.#first += count;
    for (const [number, line] of this.#inMemory) {
      if (number >= this.#first) break;
      this.#inMemory.delete(number);
      this.#memoryBytes -= Buffer.byteLength(line) + tagBytes;
    }
    const from = this.#places[0] ?? this.#end;
    if (from < this.#end && (from < rewriteBytes || from < this.#end - from)) return;
    const rest = readAll(this.file, from, this.#end - from);
    try {
      this.#writeAll(rest, 0); // before `from`, so what is read from stays
    } catch {
      return; // the disk is full, and copies what is written: the next drop tries again
    }
    ftruncateSync(this.file, rest.length);
    this.#places = this.#places.map((place) => place - from);
    this.#end = rest.length;
  }

  #seal(line: string, number: number): Buffer {
    const cipher = createCipheriv(algorithm, this.#key, nonce(number));
    return Buffer.concat([cipher.update(line, "utf8"), cipher.final(), cipher.getAuthTag()]);
  }

  #writeAll(bytes: Buffer, position: number): void {
    for (let done = 0; done < bytes.length; )
      done += this.#write(this.file, bytes, done, bytes.length - done, position + done);
  }
}

/** No two lines of one key have the same number. */
function nonce(number: number): Buffer {
  const bytes = Buffer.alloc(12);
  bytes.writeUIntBE(number, 6, 6);
  return bytes;
}

function readAll(file: number, position: number, length: number): Buffer {
  const bytes = Buffer.alloc(length);
  for (let done = 0; done < length; ) {
    const read = readSync(file, bytes, done, length - done, position + done);
    if (read === 0) throw new RangeError("the file of an agent's lines is shorter than it was");
    done += read;
  }
  return bytes;
}
