import { orAborted } from "../../base/async.ts";
import type { Clock } from "../../base/clock.ts";

/** When a gateway is taken for gone, and how often it is tried then, for all streams to it together. */
export interface CircuitPolicy {
  /** Failed attaches in a row, over all streams, after which the circuit opens. */
  readonly threshold: number;
  /** Between two trials while it is gone, ms; spread by half of it both ways. */
  readonly coolDownMs: number;
}

export const defaultCircuit: CircuitPolicy = { threshold: 8, coolDownMs: 4000 };

/**
 * Prevents that many streams try an unreachable gateway. After some failures in a row one stream at a time tries it, and the
 * others wait for the result. One for each gateway, shared by its streams. Source: docs/wire/idempotent-streams.md, "Hazards".
 */
export class Circuit {
  readonly #policy: CircuitPolicy;
  readonly #clock: Clock;
  readonly #random: () => number;
  #failures = 0;
  #triesNextAtMs = 0;
  #trial: Promise<void> | undefined;

  constructor(policy: CircuitPolicy, clock: Clock, random: () => number) {
    this.#policy = policy;
    this.#clock = clock;
    this.#random = random;
  }

  get isOpen(): boolean {
    return this.#failures >= this.#policy.threshold;
  }

  /**
   * Resolves when this stream may attach (`go`), or when the trial of another stream failed (`failed`): that counts as
   * an attach of this one. After `go`, `report` or `leave` must be called.
   */
  async enter(signal: AbortSignal): Promise<"go" | "failed"> {
    if (!this.isOpen) return "go";
    if (this.#trial !== undefined) {
      await orAborted(this.#trial, signal);
      return this.isOpen ? "failed" : "go";
    }
    let end = () => {};
    this.#trial = new Promise((resolve) => (end = resolve));
    this.#endTrial = () => {
      this.#trial = undefined;
      this.#endTrial = () => {};
      end();
    };
    try {
      await this.#clock.sleep(Math.max(0, this.#triesNextAtMs - this.#clock.monotonic()), signal);
    } catch (error) {
      this.#endTrial(); // this one leaves; another may try
      throw error;
    }
    return "go";
  }

  /** Reports whether an attach was welcomed. */
  report(reached: boolean): void {
    this.#failures = reached ? 0 : this.#failures + 1;
    const { coolDownMs } = this.#policy;
    this.#triesNextAtMs = this.#clock.monotonic() + coolDownMs * (0.5 + this.#random());
    this.#endTrial();
  }

  /** The attach was given up before it found anything. */
  leave(): void {
    this.#endTrial();
  }

  #endTrial = () => {};
}
