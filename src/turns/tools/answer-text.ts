import type { CallDesk } from "./call-desk.ts";
import type { CallAttempt } from "./forms/call-shapes.ts";

/** A block that is a call if only calls follow it, and an example if text does. */
interface Tentative {
  raw: string;
  /** White space after it. */
  space: string;
  readonly calls: readonly CallAttempt[];
}

/** Words with which an example is introduced, in the line before it. */
const exampleLine =
  /\b(?:examples?|e\.g\.|for instance|syntax|format|looks? like|like (?:this|so)|would (?:be|look|call|write|use)|could (?:be|look|call|write|use)|such as|template|instead of|do not|don't|never)\b/i;

/** Sends the parts of a split answer on: text to the readers, calls to the desk. A part that may be either is held until more of the answer decides. */
export class AnswerText {
  readonly #desk: CallDesk;
  readonly #onText: (text: string) => void;
  /** The text of the current line, and the last line before it that is not blank. */
  #line = "";
  #lastLine = "";
  #tentative: Tentative[] = [];
  /** White space that goes out only if text follows: a call swallows the space around it. */
  #space = "";
  #sawCall = false;
  #isEmpty = true;

  constructor(desk: CallDesk, onText: (text: string) => void) {
    this.#desk = desk;
    this.#onText = onText;
  }

  get line(): string {
    return this.#line;
  }

  get atLineStart(): boolean {
    return this.#line.trim() === "";
  }

  /** Only white space came before. */
  get isEmpty(): boolean {
    return this.#isEmpty;
  }

  get inInlineCode(): boolean {
    return (this.#line.match(/`+/g)?.length ?? 0) % 2 === 1;
  }

  get hasCalls(): boolean {
    return this.#sawCall || this.#tentative.some(({ calls }) => calls.length > 0);
  }

  /** Whether the text introduces its continuation as an example. */
  get introducesExample(): boolean {
    return !this.#desk.forced && exampleLine.test(this.atLineStart ? this.#lastLine : this.#line);
  }

  pass(text: string): void {
    if (text.trim() !== "") this.#isEmpty = false;
    const lines = (this.#line + text).split("\n");
    this.#line = lines.pop() ?? "";
    this.#lastLine = lines.findLast((line) => line.trim() !== "") ?? this.#lastLine;
    this.#say(text);
  }

  /** Marks that the next text begins a line. */
  beginLine(): void {
    this.#line = "";
  }

  /** Holds a block that may be these calls. Text that only surrounds calls has none. */
  hold(raw: string, calls: readonly CallAttempt[]): void {
    this.#isEmpty = false;
    this.#tentative.push({ raw, space: "", calls });
  }

  /** A closing tag after something that may turn out to be text is text then too. */
  keepStray(tag: string): void {
    const last = this.#tentative.at(-1);
    if (last === undefined) return;
    last.raw += last.space + tag;
    last.space = "";
  }

  /** A call is certain, so the blocks held before it are calls too. */
  called(): void {
    this.#noteCall();
    this.settle(true);
  }

  /** Decides the held blocks: as calls, or as the text in which they were written. */
  settle(asCalls: boolean): void {
    const held = this.#tentative;
    if (held.length === 0) return;
    this.#tentative = [];
    const wasCall = this.#sawCall || held.some(({ calls }) => calls.length > 0);
    if (asCalls && wasCall) this.#noteCall();
    for (const { raw, space, calls } of held) {
      if (!asCalls || !wasCall) this.#say(raw + space);
      else for (const call of calls) this.#desk.attempt(call, false);
    }
    if (asCalls && wasCall) this.#space = held.at(-1)?.space ?? "";
  }

  /** The answer is over: everything held is decided. */
  end(): void {
    this.settle(true);
    if (!this.#sawCall && this.#space !== "") this.#onText(this.#space);
    this.#space = "";
  }

  #noteCall(): void {
    this.#isEmpty = false;
    this.#sawCall = true;
    this.#space = "";
  }

  #say(text: string): void {
    const last = this.#tentative.at(-1);
    if (last !== undefined) {
      if (text.trim() === "") {
        last.space += text;
        return;
      }
      this.settle(this.#desk.forced);
    }
    const whole = this.#space + text;
    const shown = whole.trimEnd();
    this.#space = whole.slice(shown.length);
    if (shown !== "") this.#onText(shown);
  }
}
