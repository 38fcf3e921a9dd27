import { equalJson } from "../arguments/equal-json.ts";
import type { CallDesk, OpenCall } from "../call-desk.ts";
import type { ShownTool } from "../names.ts";
import { readArguments, wholeJson } from "./foreign-forms.ts";
import type { Opener } from "./openers.ts";

/** How an answer ended: on its own, or cut off at its length limit. */
export type EndCause = "stop" | "length";

/** The result of showing text to a block. `taken` is undefined while the block needs more text. */
export interface BlockProgress {
  readonly taken: number;
  /** The block is over; `back` is text that it took and that belongs to the text after it. */
  readonly over: boolean;
  readonly back?: string;
}

/** A call that is being read. Shown all text that is there; at the end of the answer once with `end`. */
export interface CallBlock {
  advance(text: string, end: EndCause | undefined): BlockProgress;
}

const family =
  "tool_calls?|tool-calls?|toolcalls?|function_calls?|tool_use|use_tool|call_tool|invoke|function|call|tool|parameters?";

/** Everything that models write where a call should be closed; `own` is the tag that was opened. */
function closer(own: string): RegExp {
  return new RegExp(
    `<\\/\\s*(?:[a-z]+:)?(?:${family}|${escaped(own)})\\s*>|<\\/>|<end_of_\\w+>|\\[\\/?tool_calls?\\]|<[|｜]tool[_▁]call[_▁]end[|｜]>`,
    "i",
  );
}

/** Matches only the closing form of the tag that was opened. */
export function ownCloser(own: string): RegExp {
  const same = /^(?:tool|function)[-_]?calls?$/i.test(own) ? "(?:tool|function)[-_]?calls?" : escaped(own);
  return new RegExp(`<\\/\\s*(?:[a-z]+:)?${same}\\s*>`, "i");
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}

/** The block after a tag that names its tool. */
export function namedBlock(opener: Opener & { readonly kind: "named" }, desk: CallDesk): CallBlock {
  const { tool } = opener;
  if (opener.selfClosing) return attributeBlock(opener, desk);
  if (tool === undefined) return unknownToolBlock(opener, desk);
  return tool.tool.kind === "freeform" ? freeformBlock(opener, tool, desk) : functionBlock(opener, tool, desk);
}

function attributeBlock(opener: Opener & { readonly kind: "named" }, desk: CallDesk): CallBlock {
  const { arguments: json, ...rest } = opener.attributes;
  const value = json === undefined ? rest : wholeJson(json.replaceAll("&quot;", '"'));
  return {
    advance() {
      desk.attempt({ asked: opener.asked, tool: opener.tool, arguments: value }, false);
      return { taken: 0, over: true };
    },
  };
}

function unknownToolBlock(opener: Opener & { readonly kind: "named" }, desk: CallDesk): CallBlock {
  return {
    advance(text, end) {
      const match = ownCloser(opener.tag).exec(text);
      if (match === null && end === undefined) return { taken: 0, over: false };
      desk.attempt({ asked: opener.asked, tool: undefined, arguments: undefined }, false);
      return { taken: match === null ? text.length : match.index + match[0].length, over: true };
    },
  };
}

/** Arguments as one JSON object, sent as they grow; anything else is read when its tag closes. */
function functionBlock(opener: Opener & { readonly kind: "named" }, tool: ShownTool, desk: CallDesk): CallBlock {
  let open: OpenCall | undefined;
  const finishRaw = (text: string, end: EndCause | undefined): BlockProgress => {
    const body = (open?.raw ?? "") + text;
    const match = ownCloser(opener.tag).exec(body) ?? (end === undefined ? null : closer(opener.tag).exec(body));
    if (match === null && end === undefined) return { taken: 0, over: false };
    open ??= desk.open(tool, opener.asked);
    if (match === null && end === "length") open.cut(body);
    else {
      const whole = match === null ? body : body.slice(0, match.index);
      const value = match === null && opensString(whole) ? undefined : readArguments(whole, tool, desk.names);
      if (value === undefined) open.fail(`what stands between the tags is no JSON object: ${unreadable(whole)}`);
      else open.finish(whole.trim() === "" ? opener.attributes : value, false);
    }
    return { taken: text.length, over: true, back: match === null ? "" : body.slice(match.index + match[0].length) };
  };
  return {
    advance(text, end) {
      if (open === undefined) {
        const lead = /^\s*/.exec(text)?.[0].length ?? 0;
        if (lead === text.length && end === undefined) return { taken: 0, over: false };
        if (text.charAt(lead) !== "{") return finishRaw(text, end);
        open = desk.open(tool, opener.asked);
        const taken = open.push(text.slice(lead));
        return { taken: lead + taken, over: false };
      }
      if (open.malformed) return finishRaw(text, end);
      if (!open.closed) {
        if (text !== "") return { taken: open.push(text), over: false };
        return end === undefined ? { taken: 0, over: false } : finishRaw("", end);
      }
      return finishClosed(text, end);
    },
  };

  function finishClosed(text: string, end: EndCause | undefined): BlockProgress {
    const match = /^([\s}\])`,;]*)/.exec(text)?.[0] ?? "";
    const close = closer(opener.tag).exec(text);
    const closes = close !== null && close.index === match.length;
    const rest = text.slice(match.length);
    if (
      !closes &&
      end === undefined &&
      (rest === "" || (/^[<[]/.test(rest) && rest.length < 40 && !rest.includes(">")))
    ) {
      return { taken: 0, over: false };
    }
    const value = wholeJson(open?.raw ?? "");
    const another = !closes && rest.startsWith("{");
    const reopened = /^<tool_call>\s*(?![{\s])/i.exec(rest);
    const length = closes
      ? match.length + close[0].length
      : reopened === null
        ? strayLength(match)
        : match.length + reopened[0].length;
    const clean = opener.clean && closes && close[0] === "</tool_call>" && match.trim() === "";
    if (value === undefined) open?.fail(`the arguments are no valid JSON: ${unreadable(open.raw)}`);
    else {
      const given = readArguments(open?.raw ?? "", tool, desk.names) ?? value;
      open?.finish(given, clean && equalJson(given, value));
    }
    if (!another) return { taken: length, over: true };
    open = desk.open(tool, opener.asked); // a second object in the same tag is a second call
    return { taken: match.length + open.push(rest), over: false };
  }
}

/** Surplus closing brackets belong to the call; the text after them does not. */
function strayLength(text: string): number {
  return /^(?:\s*[}\]);])*/.exec(text)?.[0].length ?? 0;
}

/** Whether text stops inside a string, so that some of it is missing. */
function opensString(text: string): boolean {
  return (text.replace(/\\[^]/g, "").match(/"/g)?.length ?? 0) % 2 === 1;
}

function unreadable(text: string): string {
  const shown = text.trim();
  return JSON.stringify(shown.length > 120 ? `${shown.slice(0, 60)} … ${shown.slice(-50)}` : shown);
}

/** Raw text up to a closing tag at the start of a line, sent as it comes; JSON and fences around it are read whole. */
function freeformBlock(opener: Opener & { readonly kind: "named" }, tool: ShownTool, desk: CallDesk): CallBlock {
  const close = /\r?\n<\/\s*(?:[a-z]+:)?(?:tool_calls?|tool-call|toolcall|function_calls?|invoke|tool_use)\s*>/i;
  let call: ReturnType<CallDesk["freeform"]> | undefined;
  let begun = false;
  return {
    advance(text, end) {
      if (!begun) {
        const lead = /^[ \t]*(?:\r?\n)?/.exec(text)?.[0].length ?? 0;
        const inner = text.slice(lead).trimStart();
        const undecided = inner === "" || (inner.startsWith("<") && !inner.includes(">") && inner.length < 40);
        if (undecided && end === undefined) return { taken: 0, over: false };
        const empty = ownCloser(opener.tag).exec(inner);
        if (inner === "" || empty?.index === 0) {
          desk.unreadable(opener.asked, tool, "there is nothing between the tags");
          return { taken: text.length - inner.length + (empty?.[0].length ?? 0), over: true };
        }
        if (inner.startsWith("{") || inner.startsWith("`")) return wholeFreeform(text, end);
        begun = true;
        call = desk.freeform(tool, opener.asked);
        if (lead > 0) return { taken: lead, over: false };
      }
      const match = close.exec(text);
      if (match !== null) {
        call?.push(text.slice(0, match.index));
        call?.finish();
        return { taken: match.index + match[0].length, over: true };
      }
      const safe = end === undefined ? text.length - heldLength(text) : text.replace(/<\/tool_call>\s*$/i, "").length;
      call?.push(text.slice(0, safe));
      if (end === undefined) return { taken: safe, over: false };
      if (end === "stop") call?.finish();
      else call?.cut();
      return { taken: text.length, over: true };
    },
  };

  function wholeFreeform(text: string, end: EndCause | undefined): BlockProgress {
    const match = close.exec(text) ?? (end === undefined ? null : ownCloser(opener.tag).exec(text));
    if (match === null && end === undefined) return { taken: 0, over: false };
    const body = match === null ? text : text.slice(0, match.index);
    const value = readArguments(body, tool, desk.names);
    desk.attempt({ asked: opener.asked, tool, arguments: value ?? body }, value === body);
    return { taken: match === null ? text.length : match.index + match[0].length, over: true };
  }
}

/** How much of the end of a freeform text may still be the beginning of its closing tag. */
function heldLength(text: string): number {
  const match = /(?:\r?\n)?<(?:\/[\w:-]{0,30}(?:>\s*)?)?$|\r?\n$|\r$/.exec(text);
  return match === null ? 0 : match[0].length;
}
