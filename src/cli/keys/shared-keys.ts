import { isDeepStrictEqual } from "node:util";
import { bestEffort } from "../../base/async.ts";
import type { Clock } from "../../base/clock.ts";
import { isDegraded, toMillraceError } from "../../base/errors.ts";
import type { KeyRecord } from "./key-record.ts";
import type { KeyStore } from "./key-store.ts";
import { openKeysFile, versionOf } from "./keys-file.ts";
import { mergeKeys } from "./merge-keys.ts";

/** How often a gateway asks for keys that others changed; ms. A row of docs/retries.md. */
const followEveryMs = 500;

export interface SharedKeysOptions {
  /** This machine's copy. It holds while the store cannot be reached, also over a restart. */
  readonly file: string;
  readonly shared: KeyStore;
  /** Called at each change: why the others' keys are unknown, or undefined once they are known again. */
  readonly onState?: (problem: Error | undefined) => void;
  /** The copy could not be written. */
  readonly onProblem?: (error: Error) => void;
}

/** The keys that gateways share, with a copy of them in this machine's file. Keys that only the file has are added to the store. */
export class SharedKeys implements KeyStore {
  readonly #options: SharedKeysOptions;
  readonly #file: KeyStore;
  #known: readonly KeyRecord[] = [];
  #seen: { readonly keys: readonly KeyRecord[]; readonly file: string } | undefined;
  #problem: string | undefined;
  #copyProblem: string | undefined;

  constructor(options: SharedKeysOptions) {
    this.#options = options;
    this.#file = openKeysFile(options.file);
  }

  /** The keys of the last exchange; none before the first. */
  get known(): readonly KeyRecord[] {
    return this.#known;
  }

  async read(): Promise<readonly KeyRecord[]> {
    await this.#exchange();
    return this.#known;
  }

  async change(change: (keys: readonly KeyRecord[]) => readonly KeyRecord[]): Promise<readonly KeyRecord[]> {
    const own = await this.#own();
    this.#known = await this.#options.shared.change((keys) => change(mergeKeys(keys, own)));
    await this.#copy();
    return this.#known;
  }

  /** Asks once, and says whether that worked only through `onState`. */
  async tryExchange(): Promise<void> {
    try {
      await this.#exchange();
      this.#tell(undefined);
    } catch (error) {
      this.#tell(toMillraceError(error));
    }
  }

  /** Follows the changes of others, until the signal aborts. */
  async follow(clock: Pick<Clock, "sleep">, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await bestEffort(clock.sleep(followEveryMs, signal));
      if (!signal.aborted) await this.tryExchange();
    }
  }

  close(): Promise<void> {
    return this.#options.shared.close();
  }

  async #exchange(): Promise<void> {
    const { file, shared } = this.#options;
    const keys = await shared.read();
    const before = versionOf(file);
    if (this.#seen?.keys === keys && this.#seen.file === before) return;
    const own = await this.#own();
    this.#known = mergeKeys(keys, own);
    // A store that fell back to an older state gets this machine's newer keys.
    const isTold = isDeepStrictEqual(this.#known, keys);
    if (!isTold) this.#known = await shared.change((now) => mergeKeys(now, own));
    const isCopied = await this.#copy();
    this.#seen = isTold && isCopied ? { keys, file: before } : undefined; // else it looks again
  }

  /** The keys that this machine has: those of its file, and those it last saw in the store, because the file may not be writable. */
  async #own(): Promise<readonly KeyRecord[]> {
    return mergeKeys(await this.#inFile(), this.#known);
  }

  async #inFile(): Promise<readonly KeyRecord[]> {
    try {
      return await this.#file.read();
    } catch (error) {
      if (!isDegraded(error)) throw error;
      return []; // one that others can change says nothing
    }
  }

  /** Whether the file had all of the keys before. */
  async #copy(): Promise<boolean> {
    if (isDeepStrictEqual(await this.#inFile(), this.#known)) return true;
    let problem: Error | undefined;
    const written = this.#file.change((keys) => mergeKeys(this.#known, keys));
    await bestEffort(written, (error) => (problem = toMillraceError(error)));
    if (problem !== undefined && problem.message !== this.#copyProblem) this.#options.onProblem?.(problem);
    this.#copyProblem = problem?.message;
    return false;
  }

  #tell(problem: Error | undefined): void {
    if (problem?.message === this.#problem) return;
    this.#problem = problem?.message;
    this.#options.onState?.(problem);
  }
}
