import type { AnswerPlan } from "./answer-plan.ts";
import { CodeBlock } from "./code-block.ts";
import { type CallAttempt, findTool } from "./forms/call-shapes.ts";
import { closingBracket } from "./forms/loose-json.ts";
import { closerEnd, closersEnd, type Tag, tagAt, tagWindow } from "./forms/tag.ts";
import { callsFromTag, mayBeWhole, readWhole } from "./forms/whole-answer.ts";

/** The parts of an answer, in order. */
export interface FoundParts {
  text(text: string): void;
  call(call: CallAttempt): void;
  /** The whole answer is a summary of itself. */
  summary(): void;
}

/**
 * Finds the calls in an answer as it grows. The taught form, with the turn's mark, is a call anywhere outside a code block. Any other form
 * that a model knows is a call only if it is the whole answer, white space and one code fence around it apart. Everything else is text.
 * The outcome does not depend on how the answer is cut into pieces.
 */
export class CallFinder {
  readonly #plan: AnswerPlan;
  readonly #found: FoundParts;
  readonly #marked: MarkedCalls;
  /** The answer so far, while the whole of it may be a call. */
  #whole: string | undefined = "";
  #isHeld = false;

  constructor(plan: AnswerPlan, found: FoundParts) {
    this.#plan = plan;
    this.#found = found;
    this.#marked = new MarkedCalls(plan, found);
  }

  push(text: string): void {
    if (this.#whole === undefined) return this.#marked.push(text);
    this.#whole += text;
    if (this.#isHeld) return;
    const may = mayBeWhole(this.#whole, this.#plan);
    if (may === "no") this.#release(this.#whole);
    else this.#isHeld = may === "yes";
  }

  /** The answer is over: everything held is decided. */
  end(cause: "stop" | "length"): void {
    const answer = this.#whole;
    const whole = answer === undefined || cause === "length" ? undefined : readWhole(answer, this.#plan);
    if (whole === undefined) {
      if (answer !== undefined) this.#release(answer);
      this.#marked.end(cause);
    } else if ("calls" in whole) for (const call of whole.calls) this.#found.call(call);
    else if ("said" in whole) this.#found.text(whole.said);
    else this.#found.summary();
  }

  #release(text: string): void {
    this.#whole = undefined;
    this.#marked.push(text);
  }
}

/** Results, and parts of the prompt, that a model makes up after its calls. */
const invented =
  /^<(?:tool_(?:result|response|output)|function_(?:results?|response)|conversation|message)(?:-[a-z2-9]{7})?[\s>]/i;
/** So much of a tag decides whether it is one that counts. */
const headLength = 80;
/** What may become a tag at the end of a text. */
const tagSoFar = /^<\/?[\w:.-]{0,60}\s{0,8}$/;
/** What may become the rest of a tag. */
const isOpenTag = /^(?:[^<>"']|"[^"]*(?:"|$)|'[^']*(?:'|$))*$/;

/** Finds the calls in the taught form. */
class MarkedCalls {
  readonly #plan: AnswerPlan;
  readonly #found: FoundParts;
  readonly #code = new CodeBlock();
  readonly #opener: string;
  readonly #closer: string;
  readonly #either: RegExp;
  /** Text that is not decided yet. */
  #held = "";
  /** A call is open: it is read when its end came. */
  #isOpen = false;
  #lastPiece = "";
  /** White space that goes out only if text follows: a call swallows the space around it. */
  #space = "";
  #isCalled = false;
  /** A result that the model made up came: the rest is an invention too. */
  #isOver = false;
  #end: "stop" | "length" | undefined;

  constructor(plan: AnswerPlan, found: FoundParts) {
    this.#plan = plan;
    this.#found = found;
    this.#opener = `<${plan.tag}`;
    this.#closer = `</${plan.tag}>`;
    this.#either = new RegExp(`<${plan.tag}\\s|${this.#closer}`);
  }

  push(text: string): void {
    if (this.#isOver) return;
    this.#held += text;
    this.#lastPiece = this.#lastPiece.slice(-this.#closer.length) + text;
    if (!this.#isOpen || this.#either.test(this.#lastPiece)) this.#read();
  }

  end(cause: "stop" | "length"): void {
    this.#end = cause;
    this.#read();
    if (!this.#isCalled && this.#space !== "") this.#found.text(this.#space);
  }

  #read(): void {
    this.#isOpen = false;
    while (this.#held !== "" && !this.#isOver) {
      const next = this.#nextSign();
      this.#say(this.#held.slice(0, next));
      this.#held = this.#held.slice(next);
      if (this.#held === "") return;
      const taken = this.#take(this.#held);
      if (taken === undefined) return;
      this.#held = this.#held.slice(taken);
    }
  }

  /** The place of the next tag that counts, or of what may become one. */
  #nextSign(): number {
    const text = this.#held;
    for (let at = text.indexOf("<"); at !== -1; at = text.indexOf("<", at + 1)) {
      const head = text.slice(at, at + headLength);
      if (head.startsWith(this.#opener) || this.#isSoFar(head)) return at;
      if (this.#isCalled && (invented.test(head) || closerEnd(head, 0) > 0)) return at;
    }
    return text.length;
  }

  /** Whether a text may become a tag that counts. */
  #isSoFar(text: string): boolean {
    return text.length < headLength && (this.#opener.startsWith(text) || (this.#isCalled && tagSoFar.test(text)));
  }

  /** Reads the tag at the start of a text: how much was taken, or undefined if it needs more. */
  #take(text: string): number | undefined {
    const isOver = this.#end !== undefined;
    if (!text.startsWith(this.#opener)) {
      if (this.#isSoFar(text) && !isOver) return undefined;
      if (this.#code.isCode) return this.#sayFirst(text);
      this.#isOver = this.#isCalled && invented.test(text);
      if (this.#isOver) return text.length;
      if (isOver && this.#isCalled && /^<\/[\w.:-]*$/.test(text)) return text.length; // a closing tag that was cut
      const closed = this.#isCalled ? closerEnd(text.slice(0, headLength), 0) : 0;
      return closed > 0 ? closed : this.#sayFirst(text);
    }
    if (this.#code.isCode) return this.#sayFirst(text);
    const tag = tagAt(text, 0);
    if (tag === undefined && !isOver && text.length < tagWindow && isOpenTag.test(text.slice(1))) return undefined;
    const { asked } = tag ?? {};
    if (tag === undefined || asked === undefined || tag.written !== this.#plan.tag) return this.#sayFirst(text);
    return this.#takeCall(text, { ...tag, asked });
  }

  /** Takes a call up to its closing tag, or to the next call if that is missing. */
  #takeCall(text: string, tag: Tag & { readonly asked: string }): number | undefined {
    const { names } = this.#plan;
    const { asked } = tag;
    const tool = findTool(asked, names);
    if (tag.isSelfClosing) return this.#call(callsFromTag(tag, "", names), tag.end);
    const rest = text.slice(tag.end);
    const next = this.#either.exec(rest);
    if (next === null && this.#end === undefined) {
      this.#isOpen = true;
      return undefined;
    }
    const body = rest.slice(0, next?.index);
    const end = tag.end + body.length;
    if (next?.[0] === this.#closer) return this.#call(callsFromTag(tag, body, names), end + this.#closer.length);
    const isFreeform = tool?.tool.kind === "freeform";
    const json = isFreeform ? -1 : jsonEnd(body);
    if (json !== -1) {
      const closed = closersEnd(body, json);
      const isCut = body.length - closed < headLength && /^\s*<\/?[\w.:-]*$/.test(body.slice(closed));
      return this.#call(callsFromTag(tag, body.slice(0, json), names), isCut ? end : tag.end + closed);
    }
    if (next === null && !isFreeform && /^[ \t]*[A-Za-z]/.test(body)) return this.#sayFirst(text); // a sentence about the tag
    if (next === null && this.#end === "length")
      return this.#call([{ asked, tool, arguments: undefined, raw: body.trimStart(), isCut: true }], end);
    return this.#call(callsFromTag(tag, body.replace(/\r?\n?[ \t]*<\/[\w.:-]{0,60}>?\s*$/, ""), names), end);
  }

  #call(calls: readonly CallAttempt[], end: number): number {
    this.#space = "";
    this.#isCalled = true;
    this.#code.beginLine();
    for (const call of calls) this.#found.call(call);
    return end;
  }

  /** The first character of a text is no more than that. */
  #sayFirst(text: string): number {
    this.#say(text.charAt(0));
    return 1;
  }

  #say(text: string): void {
    if (text === "") return;
    this.#code.follow(text);
    const shown = text.trimEnd();
    if (shown !== "") this.#found.text(this.#space + shown);
    this.#space = shown === "" ? this.#space + text : text.slice(shown.length);
  }
}

/** The place after the JSON with which a text begins, or -1. */
function jsonEnd(text: string): number {
  const start = /\S|$/.exec(text)?.index ?? 0;
  return /[[{]/.test(text.charAt(start)) ? closingBracket(text, start) : -1;
}
