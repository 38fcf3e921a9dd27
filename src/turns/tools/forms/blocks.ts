import { isObject, writeJson } from "../../../base/json.ts";
import type { ShownTool, ToolNames } from "../names.ts";
import { type CallAttempt, callsFromJson, findTool, mayBeCall, propertiesOf } from "./call-shapes.ts";
import { closingBracket } from "./loose-json.ts";
import { spaceEnd } from "./places.ts";
import { callsOf, readCalls, wholeJson, xmlArguments } from "./read-calls.ts";
import { attributeCall, callsFromTag, extentOf } from "./tag-content.ts";
import type { NamingTag, Tag, TagKind, TagReader } from "./tags.ts";
import { readTokens } from "./tokens.ts";

/**
 * The first part of a text: written as calls are, or not. If it reaches the end of the text (with white space after calls), it is only
 * certain when the answer is over.
 */
export interface Block {
  readonly end: number;
  /** More text decides whether it is one. */
  readonly isOpen?: true;
  /** Undefined where it is no call. A wrapper and a stray closing tag have none. */
  readonly calls?: readonly CallAttempt[] | undefined;
  /** Smaller texts that name the tools and the arguments. */
  readonly sources?: readonly string[];
  /** Instead of calls: what is meant if the whole answer is this block, its text or a summary. */
  readonly said?: string | typeof isSummary | undefined;
  /** They are calls wherever they stand. */
  readonly isCertain?: true;
  /** What follows it: ordinary code in a fence, or thoughts. No call begins in it. */
  readonly inside?: Inside | undefined;
}

export interface Inside {
  /** The signs that what ends it begins with. */
  readonly signs: string;
  readonly end: RegExp;
}

const open: Block = { end: 1, isOpen: true };

export const isSummary = Symbol("summary");

export interface Place {
  /** Calls stand before it. */
  readonly isAfterCalls: boolean;
  /** Nothing stands before it. */
  readonly isFirst: boolean;
  /** How the answer ends with the text; undefined if it does not. */
  readonly ended: "stop" | "length" | undefined;
}

/** Fences whose info string announces a call, not data. */
const callInfo = /^(?:tool_calls?|tool_code|tool_use|function_calls?|tool|function|call)\b/i;
const namedInfo = /^(?:tool_call|function_call|tool|call)[\s:]{1,20}(?:name\s{0,9}=\s{0,9})?["']?([\w.:/-]+)["']?$/i;
const action =
  /^Action[ \t]{0,9}:[ \t]{0,9}`?([\w.:/-]{1,130})`?[ \t]{0,9}\r?\n[ \t]{0,9}Action[ _]Input[ \t]{0,9}:\s{0,9}(?=[[{])/i;
const actionSoFar = /^Action[ \t]{0,9}(?::[^\n]{0,200}(?:\n[^\n]{0,200})?)?$/i;
/** Tags that models close after a call, whether they opened them or not. */
const strayKinds: readonly TagKind[] = ["call", "named", "loose", "wrapper", "frame"];

/** Reads the block with which a text begins, in any form but the taught one. */
export class BlockReader {
  readonly #names: ToolNames;
  readonly #tags: TagReader;

  constructor(names: ToolNames, tags: TagReader) {
    this.#names = names;
    this.#tags = tags;
  }

  read(text: string, place: Place): Block {
    const tokens = readTokens(text, this.#names);
    if (tokens === "open") return open;
    if (tokens !== undefined) return { end: tokens.end, calls: tokens.calls ?? broken(text.slice(0, tokens.end)) };
    switch (text.charAt(0)) {
      case "`":
      case "~":
        return this.#fence(text, place);
      case "{":
      case "[":
        return this.#json(text, place);
      case "A":
        return this.#action(text);
      case "<":
        return this.#tag(text, place);
      default:
        return { end: 1 };
    }
  }

  #json(text: string, { ended }: Place): Block {
    const may = mayBeCall(text.slice(0, 256), this.#names);
    if (may === "unknown" && text.length < 256) return open;
    if (may !== "yes") return { end: 1 };
    const close = closingBracket(text, 0);
    if (close === -1 && ended === "length") return { end: text.length };
    const end = close === -1 ? text.length : close;
    const value = wholeJson(text.slice(0, end).trim());
    if (isObject(value) && value["action"] === "final" && typeof value["content"] === "string")
      return { end, calls: [], said: value["content"] };
    return { end, calls: offered(callsFromJson(value, this.#names)) };
  }

  /** `Action: bash` and `Action Input: {…}` on the next line. */
  #action(text: string): Block {
    const [head, asked] = action.exec(text) ?? [];
    if (head === undefined) {
      const isOpen = actionSoFar.test(text) || "action".startsWith(text.toLowerCase());
      return isOpen ? open : { end: 1 };
    }
    const close = closingBracket(text, head.length);
    const end = close === -1 ? text.length : close;
    return { end, calls: offered(readCalls(`${asked}${text.slice(head.length, end)}`, this.#names)) };
  }

  #fence(text: string, { ended }: Place): Block {
    const [run = ""] = /^(?:`+|~+)/.exec(text) ?? [];
    const [info = "", newline] = /^[^\n`]{0,200}(\n?)/.exec(text.slice(run.length)) ?? [];
    const from = run.length + info.length;
    if (newline === "" && from === text.length) return { end: from };
    if (newline === "" || run.length < 3) return { end: run.length };
    const named = namedInfo.exec(info.trim())?.[1];
    const isCode = /^\s*[A-Za-z_[]/.test(text.slice(from)) && callInfo.test(info);
    const inner =
      named !== undefined || isCode ? this.#code(text, from, run, named) : this.#fenced(text, from, run, ended);
    return inner ?? { end: from, inside: { signs: "`~", end: fenceEnd(run) } };
  }

  /** A fence whose first line says that a call is in it. */
  #code(text: string, from: number, marker: string, named = ""): Block | undefined {
    const close = fenceEnd(marker).exec(text.slice(from));
    const to = close === null ? text.length : from + close.index;
    const body = text.slice(from, to).trim();
    const isNamed = findTool(named, this.#names) !== undefined;
    const calls = offered(isNamed ? callsOf(named, body, this.#names) : readCalls(body, this.#names));
    const end = to + (close?.[0].length ?? 0);
    return calls === undefined && end < text.length ? undefined : { end, calls, sources: [body] };
  }

  /** The calls of a fence that holds nothing else, up to its closing line. */
  #fenced(text: string, from: number, marker: string, ended: Place["ended"]): Block | undefined {
    const blocks: Block[] = [];
    const sources: string[] = [];
    let at = spaceEnd(text, from);
    while (/[<{[]/.test(text.charAt(at))) {
      const block = this.read(text.slice(at), { isAfterCalls: false, isFirst: false, ended });
      const end = at + block.end;
      const needsMore = block.isOpen === true || end === text.length;
      if (block.calls === undefined) return needsMore && ended === undefined ? open : undefined;
      blocks.push(block);
      sources.push(...(block.sources ?? [text.slice(at, end)]));
      at = spaceEnd(text, end);
    }
    const [line = ""] = /^[^\n]*/.exec(text.slice(at)) ?? [];
    const end = at + line.length;
    const isOpen = end === text.length && /^[`~\s]*$/.test(line);
    const calls = blocks.flatMap((block) => block.calls ?? []);
    const said = blocks.length === 1 ? blocks[0]?.said : undefined;
    if (!isOpen && !fenceEnd(marker).test(line)) return undefined;
    if (calls.length === 0 && said === undefined) return isOpen && ended === undefined ? open : undefined;
    return { end, calls, sources, said };
  }

  #tag(text: string, { isAfterCalls, isFirst, ended }: Place): Block {
    const tag = this.#tags.read(text);
    if (tag === "open") return open;
    if (tag === undefined) return { end: 1 };
    const { kind, end, asked } = tag;
    if (kind === "thoughts" && !tag.isClosing)
      return { end, inside: { signs: "<", end: new RegExp(`^</${tag.written}>$`) } };
    if (tag.isClosing) return isAfterCalls && strayKinds.includes(kind) ? { end, calls: [] } : { end };
    if (kind === "summary" && isFirst) {
      const to = text.indexOf("</summary>", end);
      return to === -1 ? { end: text.length } : { end: to + 10, calls: [], said: isSummary };
    }
    if (asked !== undefined && (kind === "call" || kind === "named" || kind === "loose"))
      return this.#named(text, { ...tag, asked }, ended);
    if (asked !== undefined || tag.attributes.size > 0 || tag.isSelfClosing) return { end };
    if (kind === "call" || kind === "wrapper") return this.#nameless(text, tag, ended !== undefined);
    const tool = this.#names.byShownName(tag.written);
    return kind === "tool" && tool?.tool.kind === "function" ? this.#element(text, tag, tool) : { end };
  }

  /** A tag that names its tool, and everything up to where it is closed. */
  #named(text: string, tag: NamingTag, ended: Place["ended"]): Block {
    const tool = findTool(tag.asked, this.#names);
    if (tool === undefined && tag.kind === "loose") return { end: tag.end };
    if (tag.isSelfClosing) return { end: tag.end, calls: [attributeCall(tag, tool)] };
    const { to, closed: end, isClosed } = extentOf(text, tag, { tool, isOver: ended !== undefined });
    const body = text.slice(tag.end, to);
    if (!isClosed && (isSentence(body, tool) || ended === "length")) return { end };
    return { end, calls: callsFromTag(tag, tool, body, this.#names) };
  }

  #nameless(text: string, tag: Tag, isOver: boolean): Block {
    const from = spaceEnd(text, tag.end);
    const head = text.slice(from, from + 140);
    const inner = this.#tags.read(text.slice(from));
    if (!isOver && (inner === "open" || (head.length < 140 && /^[\w.:/-]*\s*$/.test(head)))) return open;
    if (typeof inner === "object" && !inner.isClosing && (inner.asked !== undefined || inner.kind === "call"))
      return { end: tag.end, calls: [] };
    if (!/^(?:[[{<`]|[\w.:/-]+\s*[[{<`(\n])/.test(head)) return { end: tag.end };
    const { to, closed: end } = extentOf(text, tag, { tool: undefined, isOver });
    const body = text.slice(tag.end, to);
    return { end, calls: readCalls(body, this.#names) ?? broken(text.slice(0, end)), sources: [body] };
  }

  /** `<bash><command>ls</command></bash>`: text, unless it is all arguments of that tool. */
  #element(text: string, { written, end: from }: Tag, tool: ShownTool): Block {
    const close = `</${written}>`;
    const keys = Object.keys(propertiesOf(tool));
    const head = text.slice(spaceEnd(text, from)).slice(0, 140);
    const isOpen = head.length < 140 && /^(?:<[^>]*)?$/.test(head);
    const starts = ["{", close, ...keys.map((key) => `<${key}>`)];
    if (!isOpen && !starts.some((start) => head.startsWith(start))) return { end: from };
    const to = text.indexOf(close, from);
    if (to === -1) return { end: text.length };
    const body = text.slice(from, to).trim();
    const value = body === "" && keys.length === 0 ? {} : (xmlArguments(body) ?? wholeJson(body));
    const end = to + close.length;
    return value === undefined ? { end } : { end, calls: [{ asked: written, tool, arguments: value }] };
  }
}

/** Calls of a form that other text has too: they are calls if they are of offered tools only. */
function offered(calls: readonly CallAttempt[] | undefined): readonly CallAttempt[] | undefined {
  return calls?.every(({ tool }) => tool !== undefined) === true ? calls : undefined;
}

function broken(block: string): readonly CallAttempt[] {
  const problem = `the call cannot be read: ${writeJson(block.slice(0, 160))}`;
  return [{ asked: "a tool", tool: undefined, arguments: undefined, problem }];
}

/** Whether a tag that is never closed is what a sentence is about. */
export function isSentence(content: string, tool: ShownTool | undefined): boolean {
  return /^[ \t]*[A-Za-z]/.test(content) && tool?.tool.kind !== "freeform";
}

/** The line that closes a fence. */
function fenceEnd(marker: string): RegExp {
  return new RegExp(`^[^\\S\\n]*${marker}+[^\\S\\n]*$`, "m");
}
