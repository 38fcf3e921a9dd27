import { Session } from "node:inspector";

/** What V8 counted: the script, and ranges of it with how often each ran. */
interface ScriptCoverage {
  readonly url: string;
  readonly functions: readonly {
    readonly ranges: readonly { readonly startOffset: number; readonly endOffset: number; readonly count: number }[];
  }[];
}

/** Which parts of our own sources ran, by V8's precise counters. One for each thread. */
export class Coverage {
  readonly #session = new Session();
  readonly #seen = new Set<string>();

  constructor() {
    this.#session.connect();
    this.#session.post("Profiler.enable");
    this.#session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: true });
  }

  get size(): number {
    return this.#seen.size;
  }

  /** How many parts ran since the last call that never ran before, also more often than before by powers of two. */
  take(): number {
    let found = 0;
    this.#session.post("Profiler.takePreciseCoverage", (error, answer) => {
      if (error !== null) throw error;
      for (const { url, functions } of answer.result as readonly ScriptCoverage[]) {
        if (!url.includes("/src/") || url.includes("/node_modules/")) continue;
        for (const { ranges } of functions)
          for (const { startOffset, endOffset, count } of ranges) {
            if (count === 0) continue;
            const part = `${url}:${startOffset}:${endOffset}:${Math.min(8, Math.floor(Math.log2(count)))}`;
            if (this.#seen.has(part)) continue;
            this.#seen.add(part);
            found++;
          }
      }
    });
    return found;
  }
}
