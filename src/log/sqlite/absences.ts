/** How many bodies are remembered at most. */
const mostKnown = 4_096;

/**
 * Remembers which bodies no stored turn has, so that a request looks its body up once and not three times. Valid until another
 * connection writes. Writes of this connection must be reported with `added`.
 */
export class Absences {
  readonly #owners = new Map<string, Set<string>>();
  #version: unknown;

  /** Whether no turn of this body is stored, beside those of `exceptOwner`; `version` changes with each write of another connection. */
  isAbsent(caller: string, matchIndex: string, version: unknown, exceptOwner?: string): boolean {
    this.#keepUp(version);
    const owners = this.#owners.get(`${caller} ${matchIndex}`);
    if (owners === undefined) return false;
    return owners.size === 0 || (owners.size === 1 && exceptOwner !== undefined && owners.has(exceptOwner));
  }

  /** Nothing of this body was found, by a reading that began at this version. */
  found(caller: string, matchIndex: string, version: unknown): void {
    this.#keepUp(version);
    if (this.#owners.size >= mostKnown) this.#owners.clear();
    this.#owners.set(`${caller} ${matchIndex}`, new Set());
  }

  /** This connection is about to store a turn of this body. */
  added(caller: string, matchIndex: string, owner: string): void {
    this.#owners.get(`${caller} ${matchIndex}`)?.add(owner);
  }

  clear(): void {
    this.#owners.clear();
  }

  #keepUp(version: unknown): void {
    if (version === this.#version) return;
    this.#version = version;
    this.#owners.clear();
  }
}
