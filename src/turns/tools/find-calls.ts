import { AnswerParts, type FoundParts } from "./answer-parts.ts";
import type { AnswerPlan } from "./answer-plan.ts";
import { BlockReader, closesFence } from "./forms/blocks.ts";
import { type CallAttempt, findTool, mayBeCall } from "./forms/call-shapes.ts";
import { type EndCause, Source } from "./forms/source.ts";
import { callsFromTag, extentOf } from "./forms/tag-content.ts";
import { type Tag, TagReader } from "./forms/tags.ts";

type Mode =
  | { readonly in: "text" }
  /** A fenced block of ordinary code: nothing in it is a call. */
  | { readonly in: "fence"; readonly marker: string }
  | { readonly in: "thoughts"; readonly close: string }
  /** Text that may end the answer as calls. `before`: the end of the text before it. */
  | { readonly in: "held"; readonly before: string; readonly first: boolean }
  /** The taught form, after its opening tag. */
  | { readonly in: "call"; readonly tag: Tag; readonly opener: string }
  /** After a result that the model made up: the rest is an invention too. */
  | { readonly in: "invention" };

/** The most text that is held because it may still become a call, in UTF-16 units; past it, it is text. */
export const holdLimit = 65_536;

/** A longer delta is read in pieces, because each place where a call may begin is decided by a look at all text that is there. */
const atOnce = 4_096;

/**
 * Finds the calls in an answer as it grows, in one pass. The taught form, with the turn's mark, is a call wherever it stands outside
 * code and quotations. Any other form is one only at the end of the answer, and only if the request's texts do not contain it. All else is
 * text and passes at once, unless it may still become a call. The outcome does not depend on how the answer is cut into pieces.
 */
export class CallFinder {
  readonly #plan: AnswerPlan;
  readonly #parts: AnswerParts;
  readonly #tags: TagReader;
  readonly #line = new Line();
  #mode: Mode = { in: "text" };
  #cause: EndCause | undefined;
  #held = "";
  /** How much has to be held for the next look at it. */
  #checkAt = 0;
  /** The end of what was read: of a fence's line, or of a call's content. */
  #tail = "";

  constructor(plan: AnswerPlan, found: FoundParts) {
    this.#plan = plan;
    this.#parts = new AnswerParts(plan, found);
    this.#tags = new TagReader(plan.names, plan.mark);
  }

  push(text: string): void {
    for (let at = 0; at < text.length; at += atOnce)
      for (let rest = text.slice(at, at + atOnce); rest !== ""; ) rest = this.#step(rest);
  }

  /** The answer is over: everything held is decided. */
  end(cause: EndCause): void {
    this.#cause = cause;
    while (this.#mode.in === "held" || this.#mode.in === "call") this.push(this.#step(""));
    this.#parts.end();
  }

  /** Takes the beginning of a text, and returns the rest. */
  #step(text: string): string {
    const mode = this.#mode;
    switch (mode.in) {
      case "text":
        return this.#inText(text);
      case "fence":
        return this.#inFence(text, mode.marker);
      case "thoughts":
        return this.#inThoughts(text, mode.close);
      case "held":
        return this.#inHeld(text, mode);
      case "call":
        return this.#inCall(text, mode);
      case "invention":
        return "";
      default:
        return mode satisfies never;
    }
  }

  #inText(text: string): string {
    const candidate = /<|\[(?=T|$)|(?<!\S)[{[]|`+|^[^\S\n]*[~A]/gm;
    let from = 0;
    for (let match = candidate.exec(text); match !== null; match = candidate.exec(text)) {
      const at = candidate.lastIndex - match[0].trimStart().length;
      this.#line.follow(text.slice(from, at));
      from = at;
      if (this.#mayBegin(text, from)) {
        this.#parts.say(text.slice(0, from));
        this.#hold({ in: "held", before: this.#parts.seen, first: this.#parts.isEmpty });
        return text.slice(from);
      }
    }
    this.#line.follow(text.slice(from));
    this.#parts.say(text);
    return "";
  }

  /** Whether a block of calls may begin here; decided by a few characters. */
  #mayBegin(text: string, at: number): boolean {
    const char = text.charAt(at);
    const { isBlank: isLineStart, inCode, isClosed } = this.#line;
    if (inCode || isClosed) return false;
    if (char === "<") return this.#tags.mayBegin(text, at) !== "no" || this.#tags.tokenAt(text, at) !== 0;
    if (char === "[" && this.#tags.tokenAt(text, at) !== 0) return true;
    if (char === "{" || char === "[") {
      if (!isLineStart && (char === "[" || !endsSentence(this.#before(text, at)))) return false;
      return mayBeCall(text.slice(at, at + 64), this.#plan.names) !== "no";
    }
    return isLineStart && (char === "`" || char === "~" || char === "A");
  }

  #before(text: string, at: number): string {
    return at >= 8 ? text.slice(at - 8, at) : (this.#parts.seen + text.slice(0, at)).slice(-8);
  }

  #inFence(text: string, marker: string): string {
    const newline = text.indexOf("\n");
    const end = newline === -1 ? text.length : newline;
    if (this.#tail.length < 200) this.#tail += text.slice(0, Math.min(end, 200));
    if (newline === -1) {
      this.#parts.say(text);
      return "";
    }
    if (closesFence(this.#tail, marker)) {
      this.#mode = { in: "text" };
      this.#line.begin();
    }
    this.#tail = "";
    this.#parts.say(text.slice(0, newline + 1));
    return text.slice(newline + 1);
  }

  #inThoughts(text: string, close: string): string {
    const known = this.#parts.seen.slice(-(close.length - 1));
    const found = (known + text).indexOf(close);
    const end = found === -1 ? text.length : found + close.length - known.length;
    if (found !== -1) this.#mode = { in: "text" };
    this.#parts.say(text.slice(0, end));
    if (found !== -1) this.#line.begin();
    return text.slice(end);
  }

  #hold(mode: Mode): void {
    this.#mode = mode;
    this.#held = "";
    this.#checkAt = 1;
    this.#tail = "";
  }

  /** Reads what is held each time that it has doubled, so that the whole takes linear time. */
  #inHeld(text: string, { before, first }: Mode & { readonly in: "held" }): string {
    this.#held += text;
    const all = this.#held;
    if (all.length < this.#checkAt && this.#cause === undefined) return "";
    const isFull = all.length >= holdLimit;
    const source = new Source(all.slice(0, holdLimit), isFull ? undefined : this.#cause);
    const { blocks, stop } = new BlockReader(source, this.#tags).readAll({ called: this.#parts.sawCall, first });
    const isOver = stop.next === "end" && source.cause !== undefined;
    if ((stop.next === "more" || stop.next === "end") && !isFull && !isOver) {
      this.#checkAt = Math.min(all.length * 2, holdLimit);
      return "";
    }
    this.#mode = { in: "text" };
    if (isOver) {
      this.#parts.endWith(all, blocks, before, first);
      return "";
    }
    const hasCalls = blocks.some(({ calls }) => calls.length > 0);
    const blocksEnd = blocks.at(-1)?.end ?? 0;
    switch (stop.next) {
      case "marked": // a wrapper around the taught form is no text
        if (hasCalls) this.#parts.keep(all, blocks, before);
        this.#parts.say(all.slice(blocksEnd, stop.start));
        if (stop.tag.isSelfClosing) return this.#called(this.#callsFrom(stop.tag, ""), all.slice(stop.at));
        this.#hold({ in: "call", tag: stop.tag, opener: all.slice(stop.start, stop.at) });
        return all.slice(stop.at);
      case "invented":
        if (hasCalls) this.#parts.say(all.slice(0, blocksEnd));
        this.#parts.settle(false);
        this.#mode = { in: "invention" };
        return "";
      case "thoughts":
        this.#mode = { in: "thoughts", close: `</${stop.tag.written}>` };
        return this.#pass(all, stop.at);
      case "text":
      case "more":
        if (stop.fence !== undefined) this.#mode = { in: "fence", marker: stop.fence.marker };
        return this.#pass(all, stop.fence?.from ?? (stop.next === "text" ? stop.at : source.text.length));
      case "end":
        return this.#pass(all, source.text.length);
      default:
        return stop satisfies never;
    }
  }

  /** Passes held text on as text, and returns its rest. */
  #pass(held: string, end: number): string {
    const text = held.slice(0, Math.max(1, end));
    this.#line.follow(text);
    this.#tail = "";
    this.#parts.say(text);
    return held.slice(text.length);
  }

  /** The taught form: up to its closing tag, or to the next call if that is missing. */
  #inCall(text: string, mode: Mode & { readonly in: "call" }): string {
    const { closer, either } = this.#tags.own;
    this.#held += text;
    const window = this.#tail + text;
    this.#tail = window.slice(-closer.length);
    return either.test(window) || this.#cause !== undefined ? this.#readCall(this.#held, mode) : "";
  }

  #readCall(text: string, { tag, opener }: Mode & { readonly in: "call" }): string {
    const { own } = this.#tags;
    const next = own.either.exec(text);
    const isClosed = next?.[0] === own.closer;
    const body = text.slice(0, next?.index);
    const tool = this.#toolOf(tag);
    const isFreeform = tool?.tool.kind === "freeform";
    const extent = isClosed
      ? { to: body.length, end: body.length + own.closer.length, isClosed }
      : extentOf(new Source(body, "stop"), { ...tag, end: 0 }, isFreeform);
    this.#mode = { in: "text" };
    const content = body.slice(0, extent.to);
    if (!extent.isClosed && next === null) {
      if (/^[ \t]*[A-Za-z]/.test(content) && !isFreeform) {
        this.#parts.say(opener + text); // a sentence about the tag
        return "";
      }
      if (this.#cause === "length") {
        this.#parts.cut({ asked: tag.asked ?? "", tool, arguments: undefined, raw: content.trimStart() });
        return "";
      }
    }
    const calls = this.#callsFrom(tag, content);
    const isClean = opener === `${own.opener}name="${tool?.shownName}">` && (isClosed || isFreeform);
    return this.#called(isClean ? calls : calls.map((call) => ({ ...call, isRepaired: true })), text.slice(extent.end));
  }

  #toolOf({ asked = "" }: Tag) {
    return findTool(asked, this.#plan.names);
  }

  #callsFrom(tag: Tag, content: string): readonly CallAttempt[] {
    return callsFromTag(tag, this.#toolOf(tag), content, this.#plan.names);
  }

  #called(calls: readonly CallAttempt[], rest: string): string {
    this.#line.begin();
    this.#parts.called(calls);
    return rest;
  }
}

function endsSentence(before: string): boolean {
  return /[.!?…"”)\]]\s+$/.test(before);
}

/** The place in its line up to which an answer was read. */
class Line {
  /** Only white space came so far. */
  isBlank = true;
  /** A quotation, or indented as code: no call begins in it. */
  isClosed = false;
  /** Between backticks. */
  inCode = false;
  #indent = "";
  #last = "";

  begin(): void {
    this.isBlank = true;
    this.isClosed = false;
    this.inCode = false;
    this.#indent = "";
    this.#last = "";
  }

  follow(text: string): void {
    if (text === "") return;
    const newline = text.lastIndexOf("\n");
    if (newline !== -1) this.begin();
    const rest = text.slice(newline + 1);
    if (this.isBlank) {
      const start = rest.search(/[^ \t\r]/);
      this.#indent = (this.#indent + rest.slice(0, start === -1 ? rest.length : start)).slice(0, 8);
      this.isBlank = start === -1;
      this.isClosed = /^(?: {4}|.*\t)/.test(this.#indent) || rest.charAt(start) === ">";
    }
    for (let at = rest.indexOf("`"); at !== -1; at = rest.indexOf("`", at + 1))
      if ((at > 0 ? rest.charAt(at - 1) : this.#last) !== "`") this.inCode = !this.inCode;
    this.#last = rest.at(-1) ?? this.#last;
  }
}
