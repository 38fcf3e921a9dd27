import { AnswerText } from "./answer-text.ts";
import type { CallDesk } from "./call-desk.ts";
import { type CallBlock, type EndCause, namedBlock } from "./forms/blocks.ts";
import { envelopeReader, type ObjectPosition } from "./forms/envelope.ts";
import { closesFence, fenceReader, readFenceLine } from "./forms/fences.ts";
import { readOpener } from "./forms/openers.ts";
import {
  actionReader,
  bareJsonReader,
  elementReader,
  inlineReader,
  namelessReader,
  tokenReader,
  type WholeReader,
} from "./forms/whole-blocks.ts";

type Mode =
  | { readonly in: "text" }
  /** A fenced block of ordinary code: nothing in it is a call. */
  | { readonly in: "fence"; readonly marker: string }
  | { readonly in: "thoughts"; readonly close: string }
  | { readonly in: "block"; readonly block: CallBlock }
  /** Text that may turn out to be a call: held from its opener on. */
  | { readonly in: "whole"; readonly opener: number; readonly read: WholeReader; readonly fence?: string }
  /** After a result that the model made up: the rest is an invention too. */
  | { readonly in: "invention" };

/**
 * Splits an answer, as it grows, into the text that readers see and the calls that the desk gets. Text passes at once, except text
 * that may begin a call. Calls are looked for outside inline code and ordinary code fences. The outcome does not depend on how the
 * answer is cut into pieces.
 */
export class AnswerScanner {
  readonly #desk: CallDesk;
  readonly #text: AnswerText;
  #pending = "";
  #mode: Mode = { in: "text" };

  constructor(desk: CallDesk, onText: (text: string) => void) {
    this.#desk = desk;
    this.#text = new AnswerText(desk, onText);
  }

  push(text: string): void {
    this.#pending += text;
    this.#run(undefined);
  }

  /** The answer is over: everything held is decided. */
  end(end: EndCause): void {
    this.#run(end);
    this.#text.end();
  }

  #run(end: EndCause | undefined): void {
    while (this.#step(end));
  }

  /** Does one thing; false when there is nothing to do without more text. */
  #step(end: EndCause | undefined): boolean {
    const mode = this.#mode;
    switch (mode.in) {
      case "text":
        return this.#pending !== "" && this.#stepInText(end);
      case "fence":
        return this.#pending !== "" && this.#stepInFence(mode.marker);
      case "thoughts":
        return this.#pending !== "" && this.#stepInThoughts(mode.close, end);
      case "block":
        return this.#stepInBlock(mode.block, end);
      case "whole":
        return this.#stepInWhole(mode, end);
      case "invention":
        this.#pending = "";
        return false;
      default:
        return mode satisfies never;
    }
  }

  #stepInText(end: EndCause | undefined): boolean {
    const at = this.#pending.search(/[<`~{[AO]/);
    if (at !== 0) return this.#pass(at === -1 ? this.#pending.length : at);
    const text = this.#pending;
    const lineStart = this.#text.atLineStart;
    const { names } = this.#desk;
    switch (text.charAt(0)) {
      case "`":
      case "~": {
        const fence = lineStart ? readFenceLine(text) : undefined;
        if (fence === "more" && end === undefined) return false;
        if (fence === undefined || fence === "more") return this.#passRun(/^(?:`+|~+)/, end);
        return this.#hold(fence.length, fenceReader(fence, names, this.#text.isEmpty), fence.marker);
      }
      case "A":
        return lineStart ? this.#hold(0, actionReader(names)) : this.#pass(1);
      case "O":
        return lineStart && this.#text.hasCalls ? this.#invented(/^Observation\s*:/, end) : this.#pass(1);
      case "{":
        if (!lineStart && this.#text.inInlineCode) return this.#pass(1);
        return this.#hold(0, envelopeReader(names, this.#place()));
      default:
        return this.#text.inInlineCode ? this.#pass(1) : this.#open(text, lineStart, end);
    }
  }

  #open(text: string, lineStart: boolean, end: EndCause | undefined): boolean {
    const { names } = this.#desk;
    const opener = readOpener(text, names);
    if (opener === "more" && end === undefined) return false;
    if (opener === undefined || opener === "more") {
      return text.startsWith("[") && lineStart ? this.#hold(0, bareJsonReader(names)) : this.#pass(1);
    }
    switch (opener.kind) {
      case "named": {
        const { tool } = opener;
        if (tool !== undefined && !opener.selfClosing) {
          const after = text.slice(opener.length);
          if (lineStart && /^[ \t]*$/.test(after) && end === undefined) return false;
          const prose = !lineStart || /^[ \t]*[A-Za-z]/.test(after);
          if (prose) return this.#hold(opener.length, inlineReader(opener.tag, tool, names, lineStart));
        }
        if (!lineStart) return this.#pass(1);
        this.#text.called();
        this.#pending = text.slice(opener.length);
        this.#mode = { in: "block", block: namedBlock(opener, this.#desk) };
        return true;
      }
      case "nameless":
        if (lineStart && /s$/i.test(opener.tag)) {
          const inner = text.slice(opener.length).trimStart();
          const first = inner.startsWith("<") ? readOpener(inner, names) : undefined;
          if ((inner === "" || first === "more") && end === undefined) return false;
          if (first !== undefined && first !== "more" && (first.kind === "named" || first.kind === "nameless")) {
            // a wrapper: the calls in it are read one by one; it is text again if none comes
            this.#text.hold(text.slice(0, text.length - inner.length), []);
            this.#pending = inner;
            this.#text.beginLine();
            return true;
          }
        }
        return lineStart ? this.#hold(opener.length, namelessReader(opener.tag, names)) : this.#pass(1);
      case "element":
        return lineStart ? this.#hold(opener.length, elementReader(opener.tag, opener.tool)) : this.#pass(1);
      case "tokens":
        return this.#hold(opener.length, tokenReader(names));
      case "thoughts":
        if (!lineStart) return this.#pass(1);
        this.#mode = { in: "thoughts", close: `</${opener.tag}>` };
        return this.#pass(opener.length);
      case "invented":
        return lineStart && this.#text.hasCalls ? this.#invented(/^</, end) : this.#pass(1);
      case "stray":
        if (!this.#text.hasCalls) return this.#pass(1);
        this.#text.keepStray(text.slice(0, opener.length));
        this.#pending = text.slice(opener.length);
        return true;
      default:
        return opener satisfies never;
    }
  }

  #place(): ObjectPosition {
    const { atLineStart, isEmpty, line } = this.#text;
    return { atLineStart, first: isEmpty, before: line.slice(-8) };
  }

  #invented(form: RegExp, end: EndCause | undefined): boolean {
    if (!form.test(this.#pending)) {
      return "Observation:".startsWith(this.#pending) && end === undefined ? false : this.#pass(1);
    }
    this.#text.settle(true);
    this.#mode = { in: "invention" };
    return true;
  }

  #hold(opener: number, read: WholeReader, fence?: string): boolean {
    this.#mode = { in: "whole", opener, read, ...(fence === undefined ? {} : { fence }) };
    return true;
  }

  #stepInWhole(mode: Mode & { readonly in: "whole" }, end: EndCause | undefined): boolean {
    const verdict = mode.read(this.#pending.slice(mode.opener), end);
    if (verdict === "more") return false;
    this.#mode = { in: "text" };
    const length = mode.opener + verdict.length;
    if (verdict.is === "said") {
      this.#pending = this.#pending.slice(length);
      this.#text.pass(verdict.text);
      return true;
    }
    const asks = verdict.is !== "text" && verdict.explicit && !(verdict.is === "calls" && verdict.mayBeShown === true);
    if (verdict.is === "text" || (this.#text.introducesExample && !asks)) {
      if (mode.fence !== undefined) this.#mode = { in: "fence", marker: mode.fence };
      return this.#pass(verdict.is === "text" ? Math.max(1, length) : mode.fence === undefined ? length : mode.opener);
    }
    const raw = this.#pending.slice(0, length);
    this.#pending = this.#pending.slice(length);
    if (verdict.is === "broken") {
      this.#text.called();
      this.#desk.unreadable("a tool", undefined, `the call cannot be read: ${JSON.stringify(raw.slice(0, 160))}`);
    } else if (verdict.explicit) {
      this.#text.called();
      for (const call of verdict.calls) this.#desk.attempt(call, false);
    } else this.#text.hold(raw, verdict.calls);
    this.#text.beginLine();
    return true;
  }

  #stepInBlock(block: CallBlock, end: EndCause | undefined): boolean {
    const step = block.advance(this.#pending, end);
    this.#pending = (step.back ?? "") + this.#pending.slice(step.taken);
    if (step.over) {
      this.#mode = { in: "text" };
      this.#text.beginLine();
    }
    return step.over || step.taken > 0;
  }

  #stepInFence(marker: string): boolean {
    const newline = this.#pending.indexOf("\n");
    if (newline !== -1 && closesFence(this.#text.line + this.#pending.slice(0, newline), marker))
      this.#mode = { in: "text" };
    return this.#pass(newline === -1 ? this.#pending.length : newline + 1);
  }

  #stepInThoughts(close: string, end: EndCause | undefined): boolean {
    const at = this.#pending.indexOf(close);
    if (at !== -1) {
      this.#mode = { in: "text" };
      return this.#pass(at + close.length);
    }
    const held = end === undefined ? partialTail(this.#pending, close) : 0;
    return this.#pass(this.#pending.length - held);
  }

  #passRun(form: RegExp, end: EndCause | undefined): boolean {
    const length = form.exec(this.#pending)?.[0].length ?? 1;
    if (length === this.#pending.length && end === undefined && this.#text.atLineStart) return false;
    return this.#pass(length);
  }

  #pass(length: number): boolean {
    if (length === 0) return false;
    this.#text.pass(this.#pending.slice(0, length));
    this.#pending = this.#pending.slice(length);
    return true;
  }
}

/** How much of the end of `text` may be the beginning of `wanted`. */
function partialTail(text: string, wanted: string): number {
  for (let length = Math.min(wanted.length - 1, text.length); length > 0; length--) {
    if (wanted.startsWith(text.slice(-length))) return length;
  }
  return 0;
}
