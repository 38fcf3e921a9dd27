/** A window of a quota as it stands: plain data, so that it outlives a process. */
export interface WindowUse {
  /** 0 to 100, not rounded. */
  readonly usedPercent: number;
  readonly resetsAtMs: number;
}

/** One window of a quota: fills as turns run, empties when its time comes, and starts anew at once. */
export class QuotaWindow {
  readonly #lengthMs: number;
  #usedPercent: number;
  #resetsAtMs: number;

  constructor(lengthMs: number, use: WindowUse) {
    this.#lengthMs = lengthMs;
    this.#usedPercent = use.usedPercent;
    this.#resetsAtMs = use.resetsAtMs;
  }

  /** As it stands at a time. */
  at(nowMs: number): WindowUse {
    if (nowMs >= this.#resetsAtMs) {
      const windows = Math.floor((nowMs - this.#resetsAtMs) / this.#lengthMs) + 1;
      this.#resetsAtMs += windows * this.#lengthMs;
      this.#usedPercent = 0;
    }
    return { usedPercent: this.#usedPercent, resetsAtMs: this.#resetsAtMs };
  }

  use(percent: number, nowMs: number): void {
    this.#usedPercent = Math.min(100, this.at(nowMs).usedPercent + percent);
  }
}
