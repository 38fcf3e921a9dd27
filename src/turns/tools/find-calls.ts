import { AnswerParts, type FoundParts } from "./answer-parts.ts";
import type { AnswerPlan } from "./answer-plan.ts";
import { type Block, BlockReader, type Inside, isSentence, type Place } from "./forms/blocks.ts";
import { findTool, repairedCall } from "./forms/call-shapes.ts";
import { spaceEnd } from "./forms/places.ts";
import { callsFromTag, extentOf } from "./forms/tag-content.ts";
import { type NamingTag, TagReader } from "./forms/tags.ts";
import { Line } from "./line.ts";

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
  readonly #blocks: BlockReader;
  readonly #line = new Line();
  #inside: Inside | undefined;
  /** A result that the model made up came: the rest is an invention too. */
  #isOver = false;
  #end: Place["ended"];
  /** How much of the held text is not the model's: the rest of a closing tag in which the answer ended. */
  #added = 0;
  /** Text that is not decided yet. */
  #held = "";
  /** It is read again when it is this long, or when a text that `until` matches came. */
  #checkAt = 0;
  #until: RegExp | undefined;
  #lastPiece = "";

  constructor(plan: AnswerPlan, found: FoundParts) {
    this.#plan = plan;
    this.#parts = new AnswerParts(plan, found);
    this.#tags = new TagReader(plan.names, plan.mark);
    this.#blocks = new BlockReader(plan.names, this.#tags);
  }

  push(text: string): void {
    for (let at = 0; at < text.length; at += atOnce) {
      const piece = text.slice(at, at + atOnce);
      this.#held += piece;
      this.#lastPiece = this.#lastPiece.slice(-this.#tags.own.closer.length) + piece;
      if (this.#until?.test(this.#lastPiece) ?? this.#held.length >= this.#checkAt) this.#read();
    }
  }

  /** The answer is over: everything held is decided. */
  end(cause: "stop" | "length"): void {
    this.#end = cause;
    const { isCalled, isPending } = this.#parts;
    const missing = this.#inside === undefined ? this.#tags.missing(this.#held, isCalled || isPending) : "";
    this.#added = missing.length;
    this.#held += missing;
    this.#read();
    this.#parts.end();
  }

  /** Reads what is held, as far as it is decided. */
  #read(): void {
    const text = this.#held;
    const own = text.length - this.#added;
    let [said, at] = [0, 0];
    const say = () => {
      this.#parts.say(text.slice(said, Math.min(at, own)));
      said = at;
    };
    this.#checkAt = 0;
    this.#until = undefined;
    while (at < text.length && !this.#isOver) {
      at += this.#nextStart(text.slice(at));
      if (this.#parts.isPending || this.#parts.isEmpty) say();
      const found = at < text.length ? this.#find(text.slice(at)) : undefined;
      if (found === undefined) break;
      const raw = text.slice(at, Math.min(at + found.end, own));
      if (found.calls === undefined) this.#line.follow(raw);
      else {
        say();
        this.#parts.add(raw, found);
        this.#line.begin();
        said += found.end;
      }
      at += found.end;
      this.#inside = found.inside;
    }
    say();
    this.#held = text.slice(at);
  }

  /** The place where something may begin or end, as far as the line before it and a few characters say. */
  #nextStart(text: string): number {
    let at = 0;
    for (const { 0: sign, index } of text.matchAll(/[<[{A~]|`+/g)) {
      this.#line.follow(text.slice(at, index));
      at = index;
      if (this.#mayStart(sign, text.slice(index))) return index;
    }
    this.#line.follow(text.slice(at));
    return text.length;
  }

  #mayStart(sign: string, text: string): boolean {
    const { isBlank, inCode, isClosed, isAfterSentence } = this.#line;
    if (this.#inside !== undefined) return this.#inside.signs.includes(sign.charAt(0)) && (isBlank || sign === "<");
    if (sign === text && sign.startsWith("`")) return true; // more of them may follow
    if (inCode || (isClosed && !this.#parts.isWrapped) || text.startsWith("<<")) return false;
    return isBlank || sign === "<" || (sign === "{" && isAfterSentence) || (sign === "[" && /^\[(?:T|$)/.test(text));
  }

  /** What stands at the start of a text; undefined as long as that is not decided. */
  #find(text: string): Block | undefined {
    const isWhole = text.length < holdLimit;
    const start = text.slice(0, holdLimit);
    const ended = isWhole ? this.#end : undefined;
    const block = this.#inside === undefined ? this.#block(start, text, ended) : endIn(this.#inside, start);
    if (block === undefined || ended !== undefined || block.isCertain === true) return block;
    const end = block.calls === undefined ? block.end : spaceEnd(start, block.end);
    if (end < start.length && block.isOpen !== true) return block;
    if (!isWhole) return { end: holdLimit, inside: this.#inside };
    this.#checkAt = Math.min(2 * text.length, holdLimit);
    return undefined;
  }

  /** What begins at the start of a text; undefined if it needs more, or if all that follows is left out. `whole`: also past the limit of what is held. */
  #block(text: string, whole: string, ended: Place["ended"]): Block | undefined {
    const { isCalled, isPending, isEmpty } = this.#parts;
    const tag = this.#tags.read(text);
    if (typeof tag === "object" && !tag.isClosing) {
      const { kind, name, attributes, asked } = tag;
      if (tag.isMarked && asked !== undefined) return this.#taught(whole, { ...tag, asked });
      const isFrame = kind === "frame" && (name === "conversation" || attributes.has("role"));
      if (isCalled && (kind === "invented" || isFrame)) {
        this.#isOver = true;
        this.#parts.leaveOut();
        return undefined;
      }
    }
    const place = { isAfterCalls: isCalled || isPending, isFirst: isEmpty, ended };
    return this.#blocks.read(text, place);
  }

  /** The taught form: up to its closing tag, or to the next call if that is missing. */
  #taught(text: string, tag: NamingTag): Block | undefined {
    const { own } = this.#tags;
    const { names } = this.#plan;
    const { asked } = tag;
    const tool = findTool(asked, names);
    if (tag.isSelfClosing) return { end: tag.end, calls: callsFromTag(tag, tool, "", names), isCertain: true };
    const rest = text.slice(tag.end);
    const next = own.either.exec(rest);
    if (next === null && this.#end === undefined) {
      this.#until = own.either;
      return undefined;
    }
    const isClosed = next?.[0] === own.closer;
    const body = rest.slice(0, next?.index);
    const extent = isClosed
      ? { to: body.length, closed: body.length + own.closer.length, isClosed }
      : extentOf(body, { ...tag, end: 0 }, { tool, isOver: true });
    const content = body.slice(0, extent.to);
    const end = tag.end + extent.closed;
    if (!extent.isClosed && next === null) {
      if (isSentence(content, tool)) return { end };
      const cut = { asked, tool, arguments: undefined, raw: content.trimStart(), isCut: true } as const;
      if (this.#end === "length") return { end, calls: [cut], isCertain: true };
    }
    const calls = callsFromTag(tag, tool, content, names);
    const isFinished = (isClosed && this.#added === 0) || tool?.tool.kind === "freeform";
    const isClean = isFinished && text.startsWith(`${own.opener}name="${tool?.shownName}">`);
    return { end, calls: isClean ? calls : calls.map(repairedCall), isCertain: true };
  }
}

/** The end of text in which no call begins, if it stands at the start of a text. */
function endIn(inside: Inside, text: string): Block {
  const [end = "", stop] = /^[^\n>]*(>?)/.exec(text) ?? [];
  if (inside.end.test(end) && (stop !== "" || end.length < text.length)) return { end: end.length };
  return { end: end === text && stop === "" ? text.length : 1, inside };
}
