import { mergeDeltas } from "../../backends/backend.ts";
import type { TurnEventBody } from "../../log/event.ts";
import { equalJson } from "./arguments/json.ts";

/** A call for the client; `value`: its arguments before they were repaired. */
export interface ToldCall {
  readonly name: string;
  readonly argumentsDelta: string;
  readonly done: boolean;
  readonly value: unknown;
}

/** What the ids of one answer's calls begin with; undefined for an id that Millrace did not give. */
export function answerOfCall(callId: string): string | undefined {
  const [, ofTurn, ofAgent] = /^call_(?:([0-9a-z]{26})_\d{1,4}|([0-9a-f]{16})[0-9a-f]{8})$/i.exec(callId) ?? [];
  return ofTurn ?? ofAgent; // an agent's own: `acp/relay/relay-program.ts`
}

/** What readers of a turn have, over both of its answers. An answer that the upstream rewrote is read again from its start. */
export class Told {
  text = "";
  readonly calls: ToldCall[] = [];
  /** Readers have more than white space. */
  isSpoken = false;
  readonly #seed: string;
  #out: TurnEventBody[] = [];
  /** How many calls the answers before this one gave. */
  #before = 0;
  /** The calls before this answer, and those of the answer as it now reads. */
  #now: ToldCall[] = [];
  /** The text of an answer that is read again. */
  #textNow: string | undefined;

  constructor(seed: string) {
    this.#seed = seed;
  }

  /** The answer as it now reads lacks a call that went out, or has another one in its place. */
  get isContradicted(): boolean {
    return this.calls.some(({ name, argumentsDelta }, at) => {
      const now = this.#now[at];
      return now?.name !== name || now.argumentsDelta !== argumentsDelta;
    });
  }

  /** Another answer follows. */
  beginAnswer(): void {
    this.#before = this.calls.length;
    this.#now = [...this.calls];
  }

  /** The answer is read again. */
  readAgain(hasText: boolean): void {
    this.#now = this.calls.slice(0, this.#before);
    if (hasText) this.#textNow = "";
  }

  /** The whole of the rewritten answer was read: its text follows what readers have, or replaces it. */
  caughtUp(): void {
    const now = this.#textNow;
    const { text } = this;
    this.#textNow = undefined;
    if (now === undefined || now === text) return;
    if (now.startsWith(text)) this.#out.push({ type: "text", delta: now.slice(text.length) });
    else this.#out.push({ type: "rewritten", text: now });
    this.text = now;
  }

  say(delta: string): void {
    this.isSpoken ||= delta.trim() !== "";
    if (this.#textNow !== undefined) {
      this.#textNow += delta;
      return;
    }
    this.text += delta;
    this.#out.push({ type: "text", delta });
  }

  call(call: ToldCall): void {
    const { name, argumentsDelta, done } = call;
    this.isSpoken = true;
    this.#now.push(call);
    if (this.#now.length <= this.calls.length) return;
    this.calls.push(call);
    const callId = `call_${this.#seed}_${this.calls.length}`;
    this.#out.push({ type: "tool_call", callId, name, argumentsDelta, done });
  }

  /** Whether an answer before this one gave the same call. */
  hadCall(name: string, value: unknown): boolean {
    return this.calls.slice(0, this.#before).some((call) => call.name === name && equalJson(call.value, value));
  }

  /** The events since the last time. */
  take(): readonly TurnEventBody[] {
    const out = this.#out;
    this.#out = [];
    return mergeDeltas(out);
  }
}
