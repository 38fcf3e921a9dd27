import { createHash } from "node:crypto";

/**
 * Counts and digests a turn's events as they are read, so that a reader of all of them can check that none is missing, changed or
 * doubled. The digest over events 1 … n is SHA-256 over the digest of 1 … n-1 and the text of event n (UTF-8); of none it is empty.
 */
export class EventChain {
  #count = 0;
  #head: Uint8Array = new Uint8Array(0);

  /** How many events it is over. */
  get count(): number {
    return this.#count;
  }

  /** base64url without padding. */
  get digest(): string {
    return Buffer.from(this.#head).toString("base64url");
  }

  push(text: string): void {
    this.#head = createHash("sha256").update(this.#head).update(text).digest();
    this.#count++;
  }
}
