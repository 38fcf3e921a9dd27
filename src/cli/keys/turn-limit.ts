import { type KeyRecord, keyState } from "./key-record.ts";

/** How many turns run at the same time in one IDE while several people share it. */
export const sharedMost = 4;

/**
 * How many turns may run at the same time in one IDE now, and why: the owner set it, keys for others work, or the owner is alone.
 * `most` is undefined for any number.
 */
export interface TurnLimit {
  readonly most: number | undefined;
  readonly why: "set" | "shared" | "alone";
}

/** `set` is the owner's setting: 0 for any number, undefined where there is none. */
export function turnLimit(set: number | undefined, keys: Iterable<KeyRecord>, nowMs: number): TurnLimit {
  if (set !== undefined) return { most: set === 0 ? undefined : set, why: "set" };
  const isShared = [...keys].some((key) => keyState(key, nowMs) === "works");
  return isShared ? { most: sharedMost, why: "shared" } : { most: undefined, why: "alone" };
}

/** The same as `/health` shows it. */
export interface ShownTurnLimit {
  readonly most: number | null;
  readonly why: TurnLimit["why"];
}

/** In words, for people. */
export function spellTurnLimit({ most, why }: ShownTurnLimit): string {
  const many = most === null ? "no limit" : `${most} at once in one IDE`;
  const because = {
    set: "as you set it",
    shared: "because keys for others work; `millrace config set serve.max_turns` changes it",
    alone: "until a key for others works",
  };
  return `${many}, ${because[why]}`;
}
