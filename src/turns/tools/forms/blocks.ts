import { isObject } from "../../../base/json.ts";
import type { ShownTool, ToolNames } from "../names.ts";
import { type CallAttempt, callsFromJson, findTool, mayBeCall, propertiesOf } from "./call-shapes.ts";
import { closingBracket } from "./loose-json.ts";
import { callsOf, readCalls, wholeJson, xmlArguments } from "./read-calls.ts";
import { type Source, spaceEnd } from "./source.ts";
import { attributeCall, callsFromTag, extentOf } from "./tag-content.ts";
import type { NamingTag, Tag, TagKind, TagReader } from "./tags.ts";
import { readTokens, tokenLength } from "./tokens.ts";

/** The first part of a text: written as calls are, or not. */
export interface Block {
  readonly end: number;
  /** Undefined where it is no call. A wrapper and a stray closing tag have none. */
  readonly calls?: readonly CallAttempt[] | undefined;
  /** Smaller texts that name the tools and the arguments. */
  readonly sources?: readonly string[];
  /** Instead of calls: what is meant if the whole answer is this block, its text or a summary. */
  readonly said?: string | typeof isSummary;
  /** What closes the fence of ordinary code that begins with it. */
  readonly fence?: string;
}

export const isSummary = Symbol("summary");

interface Place {
  /** Calls stand before it. */
  readonly isAfterCalls: boolean;
  /** Nothing stands before it. */
  readonly isFirst: boolean;
}

const inFence: Place = { isAfterCalls: false, isFirst: false };

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

  read(source: Source, place: Place): Block {
    if (tokenLength(source) > 0) {
      const { end, calls } = readTokens(source, this.#names);
      return { end, calls: calls ?? broken(source.text.slice(0, end)) };
    }
    switch (source.text.charAt(0)) {
      case "`":
      case "~":
        return this.#fence(source);
      case "{":
      case "[":
        return this.#json(source);
      case "A":
        return this.#action(source);
      case "<":
        return this.#tag(source, place);
      default:
        return { end: 1 };
    }
  }

  #json(source: Source): Block {
    const head = source.text.slice(0, 256);
    const may = mayBeCall(head, this.#names);
    if (may === "unknown" && head.length < 256) source.wait();
    if (may !== "yes") return { end: 1 };
    const close = bracketEnd(source);
    const end = close ?? source.text.length;
    if (close === undefined && source.cause === "length") return { end };
    const value = wholeJson(source.text.slice(0, end).trim());
    if (isObject(value) && value["action"] === "final" && typeof value["content"] === "string")
      return { end, calls: [], said: value["content"] };
    return { end, calls: offered(callsFromJson(value, this.#names)) };
  }

  /** `Action: bash` and `Action Input: {…}` on the next line. */
  #action(source: Source): Block {
    const { text } = source;
    const [head, asked] = action.exec(text) ?? [];
    if (head === undefined) {
      if (actionSoFar.test(text) || "action".startsWith(text.toLowerCase())) source.wait();
      return { end: 1 };
    }
    const input = source.from(head.length);
    const end = head.length + (bracketEnd(input) ?? input.text.length);
    return { end, calls: offered(readCalls(`${asked}${text.slice(head.length, end)}`, this.#names)) };
  }

  #fence(source: Source): Block {
    const { text } = source;
    const [run = ""] = /^(?:`+|~+)/.exec(text) ?? [];
    if (run === text) source.wait();
    const [info = "", newline] = /^[^\n`]{0,200}(\n?)/.exec(text.slice(run.length)) ?? [];
    const from = run.length + info.length;
    if (run.length < 3 || (newline === "" && from < text.length)) return { end: run.length };
    if (newline === "") source.wait();
    const inner = this.#fenced(source.from(from), run, info.trim());
    return inner === undefined ? { end: from, fence: run } : { ...inner, end: from + inner.end };
  }

  /** The calls of a fence that holds nothing else, and the place after its closing line. */
  #fenced(source: Source, marker: string, info: string): Block | undefined {
    const { text } = source;
    let at = spaceEnd(text, 0);
    if (at === text.length) source.wait();
    const named = namedInfo.exec(info)?.[1];
    if (named !== undefined || (/[A-Za-z_[]/.test(text.charAt(at)) && callInfo.test(info))) {
      const close = fenceEnd(marker).exec(text);
      const end = close === null ? text.length : close.index + close[0].length;
      if (end === text.length) source.wait();
      const body = text.slice(0, close?.index).trim();
      const tool = named === undefined ? undefined : findTool(named, this.#names);
      const calls =
        tool === undefined ? readCalls(body, this.#names) : callsOf(tool.shownName, tool, body, this.#names);
      return offered(calls) === undefined ? undefined : { end, calls, sources: [body] };
    }
    const blocks: Block[] = [];
    const sources: string[] = [];
    while (/[<{[]/.test(text.charAt(at))) {
      const block = this.read(source.from(at), inFence);
      if (block.calls === undefined) return undefined;
      blocks.push(block);
      sources.push(...(block.sources ?? [text.slice(at, at + block.end)]));
      at = spaceEnd(text, at + block.end);
    }
    const [line = ""] = /^[^\n]*/.exec(text.slice(at)) ?? [];
    if (at + line.length === text.length) source.wait();
    const calls = blocks.flatMap((block) => block.calls ?? []);
    const said = blocks.length === 1 ? blocks[0]?.said : undefined;
    if (calls.length === 0 && said === undefined) return undefined;
    if (at < text.length && !fenceEnd(marker).test(line)) return undefined;
    return { end: at + line.length, calls, sources, ...(said === undefined ? {} : { said }) };
  }

  #tag(source: Source, { isAfterCalls, isFirst }: Place): Block {
    const tag = this.#tags.read(source);
    if (tag === undefined) return { end: 1 };
    const { kind, end, asked } = tag;
    if (tag.isClosing) return isAfterCalls && strayKinds.includes(kind) ? { end, calls: [] } : { end };
    if (kind === "summary" && isFirst) {
      const to = source.text.indexOf("</summary>", end);
      if (to === -1) source.wait();
      return to === -1 ? { end: source.text.length } : { end: to + 10, calls: [], said: isSummary };
    }
    if (asked !== undefined && (kind === "call" || kind === "named" || kind === "loose"))
      return this.#named(source, { ...tag, asked });
    if (asked !== undefined || tag.attributes.size > 0 || tag.isSelfClosing) return { end };
    if (kind === "call" || kind === "wrapper") return this.#nameless(source, tag);
    const tool = this.#names.byShownName(tag.written);
    return kind === "tool" && tool?.tool.kind === "function" ? this.#element(source, tag, tool) : { end };
  }

  /** A tag that names its tool, and everything up to where it is closed. */
  #named(source: Source, tag: NamingTag): Block {
    const { text } = source;
    const tool = findTool(tag.asked, this.#names);
    if (tool === undefined && tag.kind === "loose") return { end: tag.end };
    if (tag.isSelfClosing) return { end: tag.end, calls: [attributeCall(tag, tool)] };
    const { to, closed: end, isClosed } = extentOf(source, tag, tool);
    const body = text.slice(tag.end, to);
    if (!isClosed && (isSentence(body, tool) || source.cause === "length")) return { end: text.length };
    return { end, calls: callsFromTag(tag, tool, body, this.#names) };
  }

  #nameless(source: Source, tag: Tag): Block {
    const { text } = source;
    const from = spaceEnd(text, tag.end);
    const head = text.slice(from, from + 140);
    const inner = this.#tags.read(source.from(from));
    if (inner !== undefined && !inner.isClosing && (inner.asked !== undefined || inner.kind === "call"))
      return { end: tag.end, calls: [] };
    if (head.length < 140 && /^[\w.:/-]*\s*$/.test(head)) source.wait();
    if (!/^(?:[[{<`]|[\w.:/-]+\s*[[{<`(\n])/.test(head)) return { end: head === "" ? text.length : tag.end };
    const { to, closed: end } = extentOf(source, tag, undefined);
    const body = text.slice(tag.end, to);
    return { end, calls: readCalls(body, this.#names) ?? broken(text.slice(0, end)), sources: [body] };
  }

  /** `<bash><command>ls</command></bash>`: text, unless it is all arguments of that tool. */
  #element(source: Source, { written, end: from }: Tag, tool: ShownTool): Block {
    const { text } = source;
    const properties = propertiesOf(tool);
    const close = `</${written}>`;
    const head = text.slice(spaceEnd(text, from)).slice(0, 140);
    if (head.length < 140 && /^(?:<[^>]*)?$/.test(head)) source.wait();
    const child = /^<([\w.-]+)>/.exec(head)?.[1];
    const isArguments = child !== undefined && Object.hasOwn(properties, child);
    if (!isArguments && !head.startsWith("{") && !head.startsWith(close)) return { end: from };
    const to = text.indexOf(close, from);
    if (to === -1) source.wait();
    if (to === -1) return { end: text.length };
    const body = text.slice(from, to).trim();
    const isEmpty = body === "" && Object.keys(properties).length === 0;
    const value = isEmpty ? {} : (xmlArguments(body, tool) ?? wholeJson(body));
    const end = to + close.length;
    return value === undefined ? { end } : { end, calls: [{ asked: written, tool, arguments: value }] };
  }
}

/** The place after the bracket that closes the first one; undefined if the answer ends before. */
function bracketEnd(source: Source): number | undefined {
  const end = closingBracket(source.text, 0);
  if (end === -1) source.wait();
  return end === -1 ? undefined : end;
}

/** Calls of a form that other text has too: they are calls if they are of offered tools only. */
function offered(calls: readonly CallAttempt[] | undefined): readonly CallAttempt[] | undefined {
  return calls?.every(({ tool }) => tool !== undefined) === true ? calls : undefined;
}

function broken(block: string): readonly CallAttempt[] {
  const problem = `the call cannot be read: ${JSON.stringify(block.slice(0, 160))}`;
  return [{ asked: "a tool", tool: undefined, arguments: undefined, problem }];
}

/** Whether a tag that is never closed is what a sentence is about. */
export function isSentence(content: string, tool: ShownTool | undefined): boolean {
  return /^[ \t]*[A-Za-z]/.test(content) && tool?.tool.kind !== "freeform";
}

/** The line that closes a fence. */
export function fenceEnd(marker: string): RegExp {
  return new RegExp(`^[^\\S\\n]*${marker}+[^\\S\\n]*$`, "m");
}
