import type { Clock } from "../../base/clock.ts";
import { probeOwner } from "./store-health.ts";

/** The other owners last seen in a shared store, and how long each declared to live. */
export class OtherOwners {
  readonly #clock: Pick<Clock, "now">;
  #alive: ReadonlySet<string> = new Set();

  constructor(clock: Pick<Clock, "now">) {
    this.#clock = clock;
  }

  note(owners: ReadonlyMap<string, number>, self: string): void {
    const others = [...owners].filter(([owner]) => owner !== self && owner !== probeOwner);
    const alive = others.filter(([, aliveUntilMs]) => aliveUntilMs > this.#clock.now());
    this.#alive = new Set(alive.map(([owner]) => owner));
  }

  /** Its process is known to have ended. */
  gone(owner: string): void {
    this.#alive = new Set([...this.#alive].filter((other) => other !== owner));
  }

  /** Whether one of them may write while this process cannot reach the store. An owner that lived then is assumed to live on. */
  get mayWrite(): boolean {
    return this.#alive.size > 0;
  }
}
