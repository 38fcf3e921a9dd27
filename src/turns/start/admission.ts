import type { NewTurn } from "../../log/store.ts";

/** Decides once for each turn whether it may start, before any part of the turn is stored or sent. */
export interface Admission {
  /**
   * Throws, or rejects with, the reason of a refusal. The returned function is called if the turn does not start after all. Check and
   * count are one step, so two turns cannot pass on the same count.
   */
  admit(turn: NewTurn): (() => void) | Promise<() => void>;
}
