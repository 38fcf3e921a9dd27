declare const kind: unique symbol;
type Branded<Name extends string> = string & { readonly [kind]: Name };

/** Names one turn: `turn_` and 26 characters that sort by creation time. */
export type TurnId = Branded<"turn">;
/** An entry's place in its turn's log: opaque, ordered as text, after `startOfLog`. */
export type EventId = Branded<"event">;
/**
 * Names a conversation upstream: a UUID inside one language server, or `acp:<agent>:<session id>` for a session of an agent
 * that speaks ACP. Only the backend that owns it makes and reads it; opaque to all other code.
 */
export type CascadeId = Branded<"cascade">;
/** The value of planner field 35: `claude-opus-4-7-medium`, `MODEL_CLAUDE_4_5_OPUS`. Source: docs/dev/wire/account.md, "Model ids". */
export type ModelUid = Branded<"model">;

/** The cursor before the first event of every log. */
export const startOfLog = "0" as EventId; // "0" sorts before every id that a store hands out

const alphabet = "0123456789abcdefghjkmnpqrstvwxyz";
const idLength = 26;
const timeLength = 10;

/** A fresh id of 26 characters: 10 of time (ms, Crockford base 32), 16 random; ids of one process sort by time. */
export function sortableId(nowMs: number, random: (bytes: number) => Uint8Array = randomBytes): string {
  let time = nowMs;
  let head = "";
  for (let i = 0; i < timeLength; i++) {
    head = alphabet.charAt(time % 32) + head;
    time = Math.floor(time / 32);
  }
  let tail = "";
  for (const byte of random(idLength - timeLength)) tail += alphabet.charAt(byte % 32);
  return head + tail;
}

/** When an id of `sortableId` was made, epoch ms; undefined for a text that is none, or of before 2020. */
export function timeOf(id: string): number | undefined {
  const places = id.split("").map((letter) => alphabet.indexOf(letter));
  if (id.length !== idLength || places.includes(-1)) return undefined;
  const time = places.slice(0, timeLength).reduce((sum, place) => sum * 32 + place, 0);
  return time < Date.UTC(2020) ? undefined : time;
}

export function newTurnId(nowMs: number): TurnId {
  return `turn_${sortableId(nowMs)}` as TurnId; // the one place that makes them
}

function randomBytes(bytes: number): Uint8Array {
  return crypto.getRandomValues(new Uint8Array(bytes));
}
