import { AnswerParts, type FoundParts } from "./answer-parts.ts";
import type { AnswerPlan } from "./answer-plan.ts";
import { BlockReader, closesFence, type EndCause } from "./forms/blocks.ts";
import { type CallAttempt, findTool, mayBeCall } from "./forms/call-shapes.ts";
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
  readonly #line = { isBlank: true, indent: "", isClosed: false, inCode: false };
  #mode: Mode = { in: "text" };
  #cause: EndCause | undefined;
  #held: string[] = [];
  #heldLength = 0;
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
    const line = this.#line;
    const special = /[\n`<{[]/g;
    for (let at = 0; at < text.length; ) {
      let isLineStart = false;
      if (line.isBlank) {
        const from = spacesEnd(text, at);
        line.indent += text.slice(at, from).slice(0, 8);
        at = from;
        if (at >= text.length) break;
        isLineStart = true;
        line.isBlank = false;
        line.isClosed = text.charAt(at) === ">" || /^(?: {4}|.*\t)/.test(line.indent);
      } else {
        special.lastIndex = at;
        at = special.exec(text)?.index ?? text.length;
        if (at >= text.length) break;
      }
      const char = text.charAt(at);
      if (char === "\n") {
        this.#newLine();
        at++;
        continue;
      }
      if (!line.isClosed && this.#mayBegin(text, at, isLineStart)) {
        this.#parts.say(text.slice(0, at));
        this.#hold({ in: "held", before: this.#parts.seen, first: this.#parts.isEmpty });
        return text.slice(at);
      }
      if (char === "`" && (at > 0 ? text.charAt(at - 1) : this.#parts.seen.at(-1)) !== "`") line.inCode = !line.inCode;
      at++;
    }
    this.#parts.say(text);
    return "";
  }

  #newLine(): void {
    Object.assign(this.#line, { isBlank: true, indent: "", isClosed: false, inCode: false });
  }

  /** Whether a block of calls may begin here; decided by a few characters. */
  #mayBegin(text: string, at: number, isLineStart: boolean): boolean {
    const char = text.charAt(at);
    if (this.#line.inCode) return false;
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
      this.#newLine();
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
    if (found !== -1) this.#newLine();
    return text.slice(end);
  }

  #hold(mode: Mode): void {
    this.#mode = mode;
    this.#held = [];
    this.#heldLength = 0;
    this.#checkAt = 1;
    this.#tail = "";
  }

  /** Reads what is held each time that it has doubled, so that the whole takes linear time. */
  #inHeld(text: string, { before, first }: Mode & { readonly in: "held" }): string {
    this.#held.push(text);
    this.#heldLength += text.length;
    if (this.#heldLength < this.#checkAt && this.#cause === undefined) return "";
    const all = this.#held.join("");
    const isFull = all.length >= holdLimit;
    const held = isFull ? all.slice(0, holdLimit) : all;
    const reader = new BlockReader(
      held,
      { names: this.#plan.names, tags: this.#tags },
      isFull ? undefined : this.#cause,
    );
    const { blocks, stop } = reader.readAll({ called: this.#parts.sawCall, first });
    const isEnd = stop.next === "end" && this.#cause !== undefined;
    if ((stop.next === "more" || stop.next === "end") && !isFull && !isEnd) {
      this.#held = [all];
      this.#checkAt = Math.min(all.length * 2, holdLimit);
      return "";
    }
    this.#mode = { in: "text" };
    if (isEnd && !isFull) {
      this.#parts.endWith(held, blocks, before, first);
      return "";
    }
    if (stop.next === "marked") {
      // a wrapper around the taught form is no text
      if (blocks.some(({ calls }) => calls.length > 0)) this.#parts.keep(held, blocks, before);
      this.#parts.say(held.slice(blocks.at(-1)?.end ?? 0, stop.start));
      const rest = all.slice(stop.at);
      if (stop.tag.isSelfClosing)
        return this.#called(callsFromTag(stop.tag, this.#toolOf(stop.tag), "", this.#plan.names), rest);
      this.#hold({ in: "call", tag: stop.tag, opener: held.slice(stop.start, stop.at) });
      return rest;
    }
    if (stop.next === "invented") {
      if (blocks.some(({ calls }) => calls.length > 0)) this.#parts.say(held.slice(0, blocks.at(-1)?.end));
      this.#parts.settle(false);
      this.#mode = { in: "invention" };
      return "";
    }
    if (stop.next === "thoughts") this.#mode = { in: "thoughts", close: `</${stop.tag.written}>` };
    const fence = "fence" in stop ? stop.fence : undefined;
    if (fence !== undefined) this.#mode = { in: "fence", marker: fence.marker };
    const end = fence?.from ?? (stop.next === "text" || stop.next === "thoughts" ? stop.at : held.length);
    return this.#pass(all, Math.max(1, end));
  }

  /** Passes held text on as text, and returns its rest. */
  #pass(held: string, end: number): string {
    const text = held.slice(0, end);
    const newline = text.lastIndexOf("\n");
    if (newline !== -1) this.#newLine();
    const last = text.slice(newline + 1);
    const line = this.#line;
    if (newline !== -1) {
      const indent = last.slice(0, spacesEnd(last, 0));
      line.indent = indent.slice(0, 8);
      line.isBlank = indent.length === last.length;
      line.isClosed = !line.isBlank && (last.charAt(indent.length) === ">" || /^(?: {4}|.*\t)/.test(line.indent));
    } else line.isBlank = false;
    if ((last.match(/`+/g)?.length ?? 0) % 2 === 1) line.inCode = !line.inCode;
    this.#tail = "";
    this.#parts.say(text);
    return held.slice(end);
  }

  /** The taught form: up to its closing tag, or to the next call if that is missing. */
  #inCall(text: string, mode: Mode & { readonly in: "call" }): string {
    const { opener, closer } = this.#tags.own;
    this.#held.push(text);
    const window = this.#tail + text;
    this.#tail = window.slice(-closer.length);
    const isWhole = window.includes(closer) || window.includes(opener) || this.#cause !== undefined;
    return isWhole ? this.#readCall(this.#held.join(""), mode) : "";
  }

  #readCall(text: string, { tag, opener }: Mode & { readonly in: "call" }): string {
    const { own } = this.#tags;
    const close = text.indexOf(own.closer);
    const next = text.indexOf(own.opener);
    const isClosed = close !== -1 && (next === -1 || close < next);
    const body = text.slice(0, isClosed ? close : next === -1 ? text.length : next);
    const tool = this.#toolOf(tag);
    const isFreeform = tool?.tool.kind === "freeform";
    const extent = isClosed
      ? { to: body.length, end: body.length + own.closer.length, isClosed }
      : extentOf(body, { ...tag, end: 0 }, { isFreeform, isEnd: true });
    if (extent === "more") return "";
    this.#mode = { in: "text" };
    const content = body.slice(0, extent.to);
    if (!extent.isClosed && next === -1) {
      if (/^[ \t]*[A-Za-z]/.test(content) && !isFreeform) {
        this.#parts.say(opener + text); // a sentence about the tag
        return "";
      }
      if (this.#cause === "length") {
        this.#parts.cut({ asked: tag.asked ?? "", tool, arguments: undefined, raw: content.trimStart() });
        return "";
      }
    }
    const calls = callsFromTag(tag, tool, content, this.#plan.names);
    const isClean = opener === `${own.opener}name="${tool?.shownName}">` && (isClosed || isFreeform);
    return this.#called(isClean ? calls : calls.map((call) => ({ ...call, isRepaired: true })), text.slice(extent.end));
  }

  #toolOf({ asked = "" }: Tag) {
    return findTool(asked, this.#plan.names);
  }

  #called(calls: readonly CallAttempt[], rest: string): string {
    this.#newLine();
    this.#parts.called(calls);
    return rest;
  }
}

function spacesEnd(text: string, at: number): number {
  const spaces = /[ \t\r]*/y;
  spaces.lastIndex = at;
  return at + (spaces.exec(text)?.[0].length ?? 0);
}

function endsSentence(before: string): boolean {
  return /[.!?…"”)\]]\s+$/.test(before);
}
