import type { AnswerPlan } from "./answer-plan.ts";
import { type Block, isSummary } from "./forms/blocks.ts";
import { type CallAttempt, repairedCall } from "./forms/call-shapes.ts";
import { Quotes } from "./quotes.ts";

/** The parts of an answer, in order. */
export interface FoundParts {
  text(text: string): void;
  call(call: CallAttempt): void;
  /** The whole answer is a summary of itself. */
  summary(): void;
}

/** A block that waits, with the white space before it. */
interface Part {
  readonly lead: string;
  readonly raw: string;
  readonly calls: readonly CallAttempt[];
  readonly block: Block;
}

/** How much of the text before a block is looked at. */
const lookBack = 400;
/** How much text may wait, in UTF-16 units. */
const mostHeld = 65_536;
/** The most blocks of foreign forms that are compared with the request's texts; more are text. */
const maxForeign = 32;

/** Words with which an example is introduced, in the line before it. */
const exampleLine =
  /\b(?:examples?|e\.g\.|for instance|syntax|format|looks? like|like (?:this|so)|would (?:be|look|call|write|use)|could (?:be|look|call|write|use)|such as|template|instead of|do not|don't|never)\b[^\n]*\s*$/i;

/** Sends the parts of an answer on, in order. A block of a foreign form waits until it is known whether it ends the answer. */
export class AnswerParts {
  /** A call of the taught form came, or calls went out. */
  isCalled = false;
  readonly #plan: AnswerPlan;
  readonly #found: FoundParts;
  #pending: Part[] = [];
  /** The length of the foreign ones. */
  #waiting = 0;
  /** White space that goes out only if text follows: a call swallows the space around it. */
  #space = "";
  /** The last characters of text. */
  #seen = "";

  constructor(plan: AnswerPlan, found: FoundParts) {
    this.#plan = plan;
    this.#found = found;
  }

  get isEmpty(): boolean {
    return this.#seen.trim() === "" && !this.isCalled && this.#pending.length === 0;
  }

  /** Blocks wait for what follows. */
  get isPending(): boolean {
    return this.#pending.length > 0;
  }

  /** A wrapper around calls waits with them. */
  get isWrapped(): boolean {
    return this.#pending.some(({ calls }) => calls.length === 0);
  }

  /** Text that is certain to be no call. */
  say(text: string): void {
    const shown = text.trimEnd();
    if (shown === "") this.#space += text;
    else {
      this.#settle(this.#pending.length);
      this.#found.text(this.#space + shown);
      this.#space = text.slice(shown.length);
    }
    this.#seen = (this.#seen + text.slice(-lookBack)).slice(-lookBack);
  }

  /** A block. Calls that are certain go out at once, unless it is open whether other calls stand before them. */
  add(raw: string, block: Block): void {
    const { calls = [], isCertain = false } = block;
    this.#pending.push({ lead: this.#space, raw, calls: isCertain ? calls : calls.map(repairedCall), block });
    this.#space = "";
    if (isCertain) {
      this.isCalled ||= calls.length > 0;
      if (!this.#pending.some(isForeignCall)) this.#settle(0);
    } else {
      this.#waiting += raw.length;
      if (this.#waiting > mostHeld) this.#settle(this.#pending.length);
    }
  }

  /** The rest is left out. Blocks of foreign forms stand before it, so they do not end the answer. */
  leaveOut(): void {
    if (this.#pending.some(isForeignCall)) this.#settle(this.#pending.length);
  }

  /** The answer is over. */
  end(): void {
    const [only, ...more] = this.#pending;
    const said = more.length === 0 && !this.isCalled && this.#seen.trim() === "" ? only?.block.said : undefined;
    if (said === isSummary) this.#found.summary();
    else if (said !== undefined) this.#found.text(said);
    else {
      this.#settle(this.#firstCall());
      if (!this.isCalled && this.#space !== "") this.#found.text(this.#space);
    }
  }

  /** Sends the blocks that wait: those from `first` on as calls, those before as the text in which they were written. */
  #settle(first: number): void {
    const parts = this.#pending;
    const after = this.#space;
    this.#pending = [];
    this.#waiting = 0;
    this.#space = "";
    for (const [i, { lead, raw, calls, block }] of parts.entries()) {
      if (block.isCertain !== true && i < first) this.say(lead + raw);
      else this.#send(calls);
    }
    this.#space += after;
  }

  #send(calls: readonly CallAttempt[]): void {
    this.#space = "";
    this.isCalled ||= calls.length > 0;
    for (const call of calls) this.#found.call(call);
  }

  /** The place of the first block that counts as a call at the end of the answer. */
  #firstCall(): number {
    const { quotable, mustCall, isTaught } = this.#plan;
    const parts = this.#pending;
    const foreign = parts.filter(({ block }) => block.isCertain !== true);
    if (isTaught && foreign.some(({ calls }) => calls.length > 0)) return parts.length;
    if (foreign.length > maxForeign || foreign.some(({ block }) => block.said !== undefined)) return parts.length;
    const isExample = !mustCall && exampleLine.test(this.#seen);
    const writtenIn = ({ raw, block: { sources = [] } }: Part) => [raw, ...sources];
    const calling = foreign.filter(({ calls }) => calls.length > 0);
    const quoted = new Quotes(quotable).find(calling.flatMap(writtenIn));
    const isQuoted = (part: Part) => writtenIn(part).some((text) => quoted.has(text));
    const isText = (part: Part) => foreign.includes(part) && (isExample || (part.calls.length > 0 && isQuoted(part)));
    const first = parts.findLastIndex(isText) + 1;
    const isCalled = this.isCalled || parts.slice(first).some(({ calls }) => calls.length > 0);
    return isCalled ? first : parts.length;
  }
}

function isForeignCall({ calls, block }: Part): boolean {
  return block.isCertain !== true && calls.length > 0;
}
