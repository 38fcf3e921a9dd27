import type { TurnEventBody } from "../../log/event.ts";

interface CallState {
  readonly name: string;
  arguments: string;
  done: boolean;
}

/**
 * Compares the answer that readers received with the answer as it now reads. They differ only after the upstream rewrote text. The
 * answer is then read again from its start: changed text goes out as `rewritten`, and only the missing calls are sent.
 */
export class Emission {
  /** The text that readers see. */
  text = "";
  /** A call that was sent already says something else now: it cannot be taken back. */
  contradicted = false;
  #out: TurnEventBody[] = [];
  #textNow: string | undefined;
  readonly #sent = new Map<string, CallState>();
  #now = new Map<string, CallState>();

  add(event: TurnEventBody): void {
    if (event.type === "text") this.#addText(event.delta);
    else if (event.type === "tool_call") this.#addCall(event);
    else this.#out.push(event);
  }

  /** The events since the last time. */
  take(): readonly TurnEventBody[] {
    const out = this.#out;
    this.#out = [];
    return out;
  }

  /** From here on the answer is read again from its start. */
  restart(): void {
    this.#textNow = "";
    this.#now = new Map();
  }

  /** The whole of the rewritten answer was read: text compares from here on as it comes. */
  caughtUp(): void {
    const now = this.#textNow;
    this.#textNow = undefined;
    if (now === undefined || now === this.text) return;
    if (now.startsWith(this.text)) this.#out.push({ type: "text", delta: now.slice(this.text.length) });
    else this.#out.push({ type: "rewritten", text: now });
    this.text = now;
  }

  /** The answer is over: a call that was sent must still be in it. */
  close(): void {
    for (const id of this.#sent.keys()) if (!this.#now.has(id)) this.contradicted = true;
  }

  get calls(): number {
    return this.#sent.size;
  }

  /** Calls that readers got whole. */
  get wholeCalls(): number {
    return [...this.#sent.values()].filter(({ done }) => done).length;
  }

  #addText(delta: string): void {
    if (this.#textNow !== undefined) this.#textNow += delta;
    else {
      this.text += delta;
      this.#out.push({ type: "text", delta });
    }
  }

  #addCall(event: TurnEventBody & { readonly type: "tool_call" }): void {
    const { callId, name, argumentsDelta, done } = event;
    const now = this.#now.get(callId) ?? { name, arguments: "", done: false };
    now.arguments += argumentsDelta;
    now.done ||= done;
    this.#now.set(callId, now);
    const sent = this.#sent.get(callId) ?? { name, arguments: "", done: false };
    if (sent.name !== name || !alike(sent, now)) {
      this.contradicted = true;
      return;
    }
    const isNew = !this.#sent.has(callId);
    const delta = now.arguments.slice(sent.arguments.length);
    if (!isNew && delta === "" && now.done === sent.done) return;
    this.#out.push({ type: "tool_call", callId, name, argumentsDelta: delta, done: now.done && !sent.done });
    this.#sent.set(callId, { name, arguments: sent.arguments + delta, done: now.done });
  }
}

function alike(sent: CallState, now: CallState): boolean {
  if (sent.done && now.done) return sent.arguments === now.arguments;
  if (now.done) return now.arguments.startsWith(sent.arguments);
  return now.arguments.startsWith(sent.arguments) || sent.arguments.startsWith(now.arguments);
}
