import type { AnswerPlan } from "./answer-plan.ts";
import type { Block } from "./forms/blocks.ts";
import type { CallAttempt } from "./forms/call-shapes.ts";
import { Quotes } from "./quotes.ts";

/** The parts of an answer, in order. */
export interface FoundParts {
  text(text: string): void;
  call(call: CallAttempt): void;
  /** The answer was cut off in this call; `raw` is as far as it came. */
  cut(call: CallAttempt): void;
  /** The whole answer is a summary of itself. */
  summary(): void;
}

/** A block that is a call if only calls follow it. Calls of the taught form are certain. */
interface Part {
  /** White space before it that belongs to no part. */
  readonly lead: string;
  readonly raw: string;
  readonly calls: readonly CallAttempt[];
  readonly isCertain: boolean;
  readonly isExample: boolean;
}

/** How much of the text before a block is looked at. */
const lookBack = 400;
/** The most blocks of foreign forms that are compared with the request's texts; more are text. */
const maxForeign = 32;

/** Words with which an example is introduced, in the line before it. */
const exampleLine =
  /\b(?:examples?|e\.g\.|for instance|syntax|format|looks? like|like (?:this|so)|would (?:be|look|call|write|use)|could (?:be|look|call|write|use)|such as|template|instead of|do not|don't|never)\b/i;

/** Sends the parts of an answer on, in order. A block of a foreign form waits until it is known whether it ends the answer. */
export class AnswerParts {
  /** The last characters of text that went out. */
  seen = "";
  /** A call went out. */
  sawCall = false;
  /** Only white space came so far. */
  isEmpty = true;
  readonly #plan: AnswerPlan;
  readonly #found: FoundParts;
  #pending: Part[] = [];
  /** White space that goes out only if text follows: a call swallows the space around it. */
  #space: string[] = [];

  constructor(plan: AnswerPlan, found: FoundParts) {
    this.#plan = plan;
    this.#found = found;
  }

  /** Calls of the taught form. They wait if blocks before them are not decided yet. */
  called(calls: readonly CallAttempt[]): void {
    this.isEmpty = false;
    if (this.#pending.length > 0) this.#add({ raw: "", calls, isCertain: true, isExample: false });
    else this.#send(calls);
  }

  /** The answer was cut off in this call. */
  cut(call: CallAttempt): void {
    this.settle(false);
    this.sawCall = true;
    this.#space = [];
    this.#found.cut(call);
  }

  /** The answer is over. */
  end(): void {
    this.settle(true);
    if (!this.sawCall && this.#space.length > 0) this.#found.text(this.#space.join(""));
  }

  #send(calls: readonly CallAttempt[]): void {
    this.#space = [];
    this.sawCall ||= calls.length > 0;
    for (const call of calls) this.#found.call(call);
  }

  #add(part: Omit<Part, "lead">): void {
    this.#pending.push({ ...part, lead: this.#space.join("") });
    this.#space = [];
  }

  /** Keeps blocks until it is known whether they end the answer. */
  keep(held: string, blocks: readonly Block[], before: string): void {
    const isExample = introducesExample(before);
    for (const [i, { end, calls }] of blocks.entries()) {
      const raw = held.slice(blocks[i - 1]?.end ?? 0, end);
      const units = calls.map((call) => ({ ...call, source: call.source ?? raw, isRepaired: true }));
      this.#add({ raw, calls: units, isCertain: false, isExample });
      this.isEmpty = false;
    }
  }

  /** The answer ends with these blocks. */
  endWith(held: string, blocks: readonly Block[], before: string, first: boolean): void {
    const [only, ...more] = blocks;
    if (first && only !== undefined && more.length === 0) {
      if (only.isSummary) {
        this.#found.summary();
        return;
      }
      if (only.said !== undefined) {
        this.say(only.said);
        return;
      }
    }
    if (blocks.some(({ said, isSummary }) => said !== undefined || isSummary)) {
      this.say(held);
      return;
    }
    this.keep(held, blocks, before);
    this.say(held.slice(blocks.at(-1)?.end ?? 0));
  }

  /** Decides the blocks that wait: the last ones as calls if they end the answer, all others as the text in which they were written. */
  settle(isEnd: boolean): void {
    const parts = this.#pending;
    if (parts.length === 0) return;
    this.#pending = [];
    const from = isEnd ? this.#firstCall(parts) : parts.length;
    const after = this.#space;
    this.#space = [];
    for (const [i, { lead, raw, calls, isCertain }] of parts.entries()) {
      if (!isCertain && i < from) this.say(lead + raw);
      else this.#send(calls);
    }
    this.#space.push(...after);
  }

  /** The place of the first block that counts as a call at the end of the answer. */
  #firstCall(parts: readonly Part[]): number {
    const { quotable, mustCall } = this.#plan;
    const foreign = parts.filter(({ isCertain }) => !isCertain);
    if (foreign.length > maxForeign) return parts.length;
    const quotes = new Quotes(quotable);
    const isText = ({ isCertain, isExample, raw, calls }: Part) =>
      !isCertain &&
      ((isExample && !mustCall) ||
        (calls.length > 0 && [raw, ...calls.map(({ source }) => source ?? raw)].some((text) => quotes.has(text))));
    const from = parts.findLastIndex(isText) + 1;
    const isCalled = this.sawCall || parts.slice(from).some(({ calls }) => calls.length > 0);
    return isCalled ? from : parts.length;
  }

  /** Text that is certain to be no call. */
  say(text: string): void {
    if (text === "") return;
    this.seen = text.length >= lookBack ? text.slice(-lookBack) : (this.seen + text).slice(-lookBack);
    const shown = text.trimEnd();
    if (shown === "") {
      this.#space.push(text);
      return;
    }
    this.settle(false);
    this.isEmpty = false;
    this.#found.text(this.#space.join("") + shown);
    this.#space = shown.length < text.length ? [text.slice(shown.length)] : [];
  }
}

/** Whether the text before a block introduces it as an example. */
function introducesExample(before: string): boolean {
  return exampleLine.test(before.trimEnd().split("\n").at(-1) ?? "");
}
