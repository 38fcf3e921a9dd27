import type { Clock } from "../../base/clock.ts";
import { probeOwner } from "./store-health.ts";

/** The other owners that were last seen in a shared store, with how long each of them said that it lives. */
export class OtherOwners {
  readonly #clock: Pick<Clock, "now">;
  #mayWrite = false;

  constructor(clock: Pick<Clock, "now">) {
    this.#clock = clock;
  }

  note(owners: ReadonlyMap<string, number>, self: string): void {
    const others = [...owners].filter(([owner]) => owner !== self && owner !== probeOwner);
    this.#mayWrite = others.some(([, aliveUntilMs]) => aliveUntilMs > this.#clock.now());
  }

  /** Whether one of them may write while this process cannot reach the store. One that lived then is taken to live on. */
  get mayWrite(): boolean {
    return this.#mayWrite;
  }
}
