import type { NewTurn } from "../../log/store.ts";

/** Decides whether a turn may start, once for each, before anything of it is stored or sent. */
export interface Admission {
  /**
   * Throws why it may not. What it answers is called where the turn does not start after all.
   *
   * Nothing is awaited between this and the turn's start: what was counted here holds.
   */
  admit(turn: NewTurn): () => void;
}
