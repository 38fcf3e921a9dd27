import type { TurnEventBody } from "../../log/event.ts";
import { equalJson } from "./arguments/json.ts";

/** A call for the client; `value`: its arguments before they were repaired. */
export interface ToldCall {
  readonly name: string;
  readonly argumentsDelta: string;
  readonly done: boolean;
  readonly value: unknown;
}

/** What readers of a turn have, over both of its answers. An answer that the upstream rewrote is read again from its start. */
export class Told {
  text = "";
  readonly calls: ToldCall[] = [];
  /** Readers have more than white space. */
  isSpoken = false;
  /** The answer as it now reads has other calls than those that went out. */
  isContradicted = false;
  readonly #seed: string;
  #out: TurnEventBody[] = [];
  /** How many calls the answers before this one gave. */
  #before = 0;
  /** How many calls the answer as it now reads gave, and those before it. */
  #count = 0;
  /** The text of an answer that is read again. */
  #textNow: string | undefined;

  constructor(seed: string) {
    this.#seed = seed;
  }

  /** Not all calls that went out are in the answer as it now reads. */
  get isIncomplete(): boolean {
    return this.#count < this.calls.length;
  }

  /** Another answer follows. */
  beginAnswer(): void {
    this.#before = this.calls.length;
    this.#count = this.#before;
  }

  /** The answer is read again. */
  readAgain(hasText: boolean): void {
    this.#count = this.#before;
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
    const last = this.#out.at(-1);
    if (last?.type === "text") this.#out[this.#out.length - 1] = { type: "text", delta: last.delta + delta };
    else this.#out.push({ type: "text", delta });
  }

  call(call: ToldCall): void {
    const { name, argumentsDelta, done } = call;
    this.isSpoken = true;
    const sent = this.calls[this.#count++];
    if (sent === undefined) {
      this.calls.push(call);
      this.#out.push({ type: "tool_call", callId: `call_${this.#seed}_${this.#count}`, name, argumentsDelta, done });
    } else this.isContradicted ||= sent.name !== name || sent.argumentsDelta !== argumentsDelta;
  }

  /** Whether an answer before this one gave the same call. */
  hadCall(name: string, value: unknown): boolean {
    return this.calls.slice(0, this.#before).some((call) => call.name === name && equalJson(call.value, value));
  }

  /** The events since the last time. */
  take(): readonly TurnEventBody[] {
    const out = this.#out;
    this.#out = [];
    return out;
  }
}
