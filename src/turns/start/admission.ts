import type { NewTurn } from "../../log/store.ts";

/** Decides whether a turn may start, once for each, before anything of it is stored or sent. */
export interface Admission {
  /**
   * Throws, or rejects with, why it may not. What it answers is called where the turn does not start after all. Check and count are
   * one step: what was counted here holds.
   */
  admit(turn: NewTurn): (() => void) | Promise<() => void>;
}
