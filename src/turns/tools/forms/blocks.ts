import { isObject } from "../../../base/json.ts";
import type { ShownTool, ToolNames } from "../names.ts";
import { type CallAttempt, callsFromJson, findTool, mayBeCall } from "./call-shapes.ts";
import { closingBracket } from "./loose-json.ts";
import { callsOf, readCalls, readTokenCalls, spaceEnd, tokenBlockEnd, wholeJson, xmlArguments } from "./read-calls.ts";
import { endOf, matchFrom, type Source, TextShortage } from "./source.ts";
import { attributeCall, callsFromTag, type Extent, extentOf } from "./tag-content.ts";
import {
  explicitTags,
  inventedTags,
  looseTags,
  namelessTags,
  strayTags,
  type Tag,
  type TagReader,
  thoughtTags,
  wrapperTags,
} from "./tags.ts";

/** A part of an answer that is written as calls are, from `start` to `end`. */
export interface Block {
  readonly start: number;
  readonly end: number;
  readonly calls: readonly CallAttempt[];
  /** The answer's text, if the whole answer is an object around it. */
  readonly said?: string;
  readonly isSummary?: true;
}

/** Where blocks end, and what follows them there. */
export type Stop =
  /** Only white space: they end the text. */
  | { readonly next: "end" }
  /** A block that is not whole yet; `fence` if it is fenced. */
  | { readonly next: "more"; readonly fence: Fence | undefined }
  /** Something that is no call. Up to `at`, or in a fence from its first line on, nothing is one. */
  | { readonly next: "text"; readonly at: number; readonly fence?: Fence }
  | { readonly next: "marked"; readonly start: number; readonly at: number; readonly tag: Tag }
  | { readonly next: "thoughts"; readonly at: number; readonly tag: Tag }
  | { readonly next: "invented"; readonly at: number };

export interface Fence {
  readonly marker: string;
  /** The place after its first line. */
  readonly from: number;
}

interface Place {
  /** A call of the taught form stands before it. */
  readonly called: boolean;
  readonly hasBlocks: boolean;
  /** Nothing stands before it. */
  readonly first: boolean;
}

/** Fences whose info string announces a call, not data. */
const callInfo = /^(?:tool_calls?|tool_code|tool_use|function_calls?|tool|function|call)\b/i;
const namedInfo = /^(?:tool_call|function_call|tool|call)[\s:]{1,20}(?:name\s{0,9}=\s{0,9})?["']?([\w.:/-]+)["']?$/i;

/** Reads blocks of calls that follow each other in a text. */
export class BlockReader {
  readonly #source: Source;
  readonly #text: string;
  readonly #names: ToolNames;
  readonly #tags: TagReader;
  /** The fence that is being read. */
  #inFence: Fence | undefined;

  constructor(source: Source, tags: TagReader) {
    this.#source = source;
    this.#text = source.text;
    this.#names = tags.names;
    this.#tags = tags;
  }

  /** All blocks from the start of the text on. `called`: a call stands before it. `first`: nothing does. */
  readAll({ called, first }: Omit<Place, "hasBlocks">): { readonly blocks: readonly Block[]; readonly stop: Stop } {
    const blocks: Block[] = [];
    let isWrapped = false;
    for (let at = 0; ; ) {
      const from = spaceEnd(this.#text, at);
      if (from >= this.#text.length) return { blocks, stop: { next: "end" } };
      const isIndented = at > 0 && /\n(?:\t| {4})[^\n]*$/.test(this.#text.slice(at, from));
      if (isIndented && !isWrapped) return { blocks, stop: { next: "text", at: from } };
      const read = this.#nextBlock(from, { called, hasBlocks: blocks.length > 0, first: first && blocks.length === 0 });
      if ("next" in read) return { blocks, stop: read };
      blocks.push(read);
      isWrapped = read.calls.length === 0 || isWrapped;
      at = read.end;
    }
  }

  #nextBlock(at: number, place: Place): Block | Stop {
    this.#inFence = undefined;
    try {
      return this.#block(at, place);
    } catch (error) {
      if (!(error instanceof TextShortage)) throw error;
      return { next: "more", fence: this.#inFence };
    }
  }

  #block(at: number, place: Place): Block | Stop {
    const token = this.#tags.tokenAt(this.#text, at);
    if (token === "more") this.#source.wait();
    else if (token > 0) return this.#tokens(at, token);
    switch (this.#text.charAt(at)) {
      case "`":
      case "~":
        return this.#fence(at);
      case "{":
      case "[":
        return this.#json(at);
      case "A":
        return this.#action(at);
      case "<":
        return this.#tag(at, place);
      default:
        return { next: "text", at };
    }
  }

  #none(at: number): Stop {
    return { next: "text", at: Math.min(this.#text.length, at) };
  }

  /** Not whole: at the end of the answer it is text. */
  #open(): Stop {
    this.#source.wait();
    return this.#none(this.#text.length);
  }

  #broken(start: number, end: number): Block {
    const problem = `the call cannot be read: ${JSON.stringify(this.#text.slice(start, end).slice(0, 160))}`;
    return { start, end, calls: [{ asked: "a tool", tool: undefined, arguments: undefined, problem }] };
  }

  #json(at: number): Block | Stop {
    const window = this.#text.slice(at, at + 256);
    const may = mayBeCall(window, this.#names);
    if (may === "unknown" && window.length < 256) this.#source.wait();
    if (may !== "yes") return this.#none(at + 1);
    const close = closingBracket(this.#text, at);
    if (close === -1 && this.#source.cause !== "stop") return this.#open();
    const end = close === -1 ? this.#text.length : close;
    const value = wholeJson(this.#text.slice(at, end).trim());
    if (isObject(value) && value["action"] === "final" && typeof value["content"] === "string")
      return { start: at, end, calls: [], said: value["content"] };
    return this.#offered(at, end, callsFromJson(value, this.#names));
  }

  /** A block of a form that other text has too: it is one if it calls offered tools only. */
  #offered(start: number, end: number, calls: readonly CallAttempt[] | undefined): Block | Stop {
    const isCalls = calls?.every(({ tool }) => tool !== undefined) === true;
    return isCalls ? { start, end, calls } : this.#none(end);
  }

  #fence(at: number): Block | Stop {
    const match = matchFrom(/(`{3,}|~{3,})([^\n`]{0,200})(\n?)/y, this.#text, at);
    const runEnd = endOf(/`+|~+/y, this.#text, at);
    if (match === null) return runEnd >= this.#text.length ? this.#open() : this.#none(runEnd);
    const from = at + match[0].length;
    if (match[3] === "") return from >= this.#text.length ? this.#open() : this.#none(runEnd);
    const fence = { marker: match[1] ?? "", from };
    const info = (match[2] ?? "").trim();
    this.#inFence = fence;
    const inner = this.#fenced(fence, info);
    if (inner === undefined) return { next: "text", at: from, fence };
    return { start: at, ...inner };
  }

  /** The calls of a fence that holds nothing else, and the place after its closing line. */
  #fenced({ marker, from }: Fence, info: string): Pick<Block, "end" | "calls" | "said"> | undefined {
    let at = spaceEnd(this.#text, from);
    if (at >= this.#text.length) this.#source.wait();
    const named = namedInfo.exec(info)?.[1];
    const word = /[A-Za-z_[]/.test(this.#text.charAt(at)) && callInfo.test(info);
    if (named !== undefined || word) {
      const close = this.#closingLine(from, marker);
      const body = this.#text.slice(from, close.start).trim();
      const tool = named === undefined ? undefined : findTool(named, this.#names);
      const calls =
        tool === undefined ? readCalls(body, this.#names) : callsOf(tool.shownName, tool, body, this.#names);
      if (calls === undefined || calls.some((call) => call.tool === undefined)) return undefined;
      return { end: close.end, calls: calls.map((call) => ({ ...call, source: body })) };
    }
    const blocks: Block[] = [];
    while (at < this.#text.length && /[<{[]/.test(this.#text.charAt(at))) {
      const read = this.#block(at, { called: false, hasBlocks: blocks.length > 0, first: false });
      if ("next" in read) return undefined;
      blocks.push(read);
      at = spaceEnd(this.#text, read.end);
    }
    const close = this.#closingLine(at, marker);
    const calls = blocks.flatMap((block) =>
      block.calls.map((call) => ({ ...call, source: call.source ?? this.#text.slice(block.start, block.end) })),
    );
    const said = blocks.length === 1 ? blocks[0]?.said : undefined;
    if (close.start !== at || (calls.length === 0 && said === undefined)) return undefined;
    return { end: close.end, calls, ...(said === undefined ? {} : { said }) };
  }

  /** The line that closes a fence, from `at` on; the end of the answer also closes it. */
  #closingLine(at: number, marker: string): { readonly start: number; readonly end: number } {
    for (let start = at; start <= this.#text.length; ) {
      const newline = this.#text.indexOf("\n", start);
      const end = newline === -1 ? this.#text.length : newline;
      const isWhole = newline !== -1 || this.#source.cause !== undefined;
      if (isWhole && closesFence(this.#text.slice(start, end), marker)) return { start, end };
      if (newline === -1) break;
      start = newline + 1;
    }
    this.#source.wait();
    return { start: this.#text.length, end: this.#text.length };
  }

  #tokens(at: number, token: number): Block | Stop {
    const ended = tokenBlockEnd(this.#text, at + token);
    if (ended === -1) this.#source.wait();
    const end = ended === -1 ? this.#text.length : ended;
    const isChannel = this.#text.startsWith("<|channel|>", at);
    const calls = readTokenCalls(this.#text.slice(isChannel ? at : at + token, end), this.#names);
    return calls === undefined ? this.#broken(at, end) : { start: at, end, calls };
  }

  /** `Action: bash` and `Action Input: {…}` on the next line. */
  #action(at: number): Block | Stop {
    const form =
      /Action[ \t]{0,9}:[ \t]{0,9}`?([\w.:/-]{1,130})`?[ \t]{0,9}\r?\n[ \t]{0,9}Action[ _]Input[ \t]{0,9}:\s{0,9}/iy;
    const match = matchFrom(form, this.#text, at);
    if (match === null) {
      const head = this.#text.slice(at, at + 300);
      const may = "action".startsWith(head.toLowerCase()) || /^Action\s{0,9}(?::[^\n]*(?:\n[^\n]*)?)?$/i.test(head);
      if (may && head.length < 300) this.#source.wait();
      return this.#none(at + 1);
    }
    const from = at + match[0].length;
    const newline = this.#text.indexOf("\n", from);
    const close = /[[{]/.test(this.#text.charAt(from)) ? closingBracket(this.#text, from) : newline;
    if (close === -1) this.#source.wait();
    const end = close === -1 ? this.#text.length : close;
    return this.#offered(at, end, readCalls(`${match[1]}${this.#text.slice(from, end)}`, this.#names));
  }

  #tag(at: number, { called, hasBlocks, first }: Place): Block | Stop {
    const tag = this.#tags.read(this.#source, at);
    if (tag === undefined) return this.#none(at + 1);
    const { name, end } = tag;
    if (tag.isClosing)
      return (called || hasBlocks) && strayTags.includes(name) ? { start: at, end, calls: [] } : this.#none(end);
    if (tag.isMarked && tag.asked !== undefined)
      return this.#inFence === undefined ? { next: "marked", start: at, at: end, tag } : this.#named(at, tag);
    if (thoughtTags.includes(name)) return { next: "thoughts", at: end, tag };
    if (inventedTags.includes(name) || (name === "message" && "role" in tag.attributes))
      return called ? { next: "invented", at } : this.#none(end);
    if (name === "summary") return first ? this.#summary(at, tag) : this.#none(end);
    if (tag.asked !== undefined && [...explicitTags, ...looseTags].includes(name)) return this.#named(at, tag);
    if (!tag.isBare || tag.isSelfClosing) return this.#none(end);
    if (wrapperTags.includes(name) || namelessTags.includes(name)) return this.#nameless(at, tag);
    const tool = this.#tags.toolNamed(tag);
    return tool === undefined ? this.#none(end) : this.#element(at, tag, tool);
  }

  #summary(at: number, tag: Tag): Block | Stop {
    const to = this.#text.indexOf("</summary>", tag.end);
    return to === -1 ? this.#open() : { start: at, end: to + "</summary>".length, calls: [], isSummary: true };
  }

  /** A tag that names its tool, and everything up to where it is closed. */
  #named(at: number, tag: Tag): Block | Stop {
    const asked = tag.asked ?? "";
    const tool = findTool(asked, this.#names);
    if (tool === undefined && !explicitTags.includes(tag.name)) return this.#none(tag.end);
    if (tag.isSelfClosing) return { start: at, end: tag.end, calls: [attributeCall(tag, tool)] };
    const extent = this.#extent(tag, tool);
    const body = this.#text.slice(tag.end, extent.to);
    const isProse = /^[ \t]*[A-Za-z]/.test(body) && tool?.tool.kind !== "freeform";
    if (!extent.isClosed && (isProse || this.#source.cause === "length")) return this.#none(this.#text.length);
    const source = this.#text.slice(at, extent.end);
    const calls = callsFromTag(tag, tool, body, this.#names);
    return { start: at, end: extent.end, calls: calls.map((call) => ({ ...call, source })) };
  }

  #extent(tag: Tag, tool: ShownTool | undefined): Extent {
    const { closer } = this.#tags.own;
    const to = tag.isMarked ? this.#text.indexOf(closer, tag.end) : -1;
    return to === -1
      ? extentOf(this.#source, tag, tool?.tool.kind === "freeform")
      : { to, end: to + closer.length, isClosed: true };
  }

  #nameless(at: number, tag: Tag): Block | Stop {
    const from = spaceEnd(this.#text, tag.end);
    const first = this.#text.charAt(from);
    if (first === "") return this.#open();
    if (first === "<") {
      const inner = this.#tags.read(this.#source, from);
      const isWrapper =
        inner !== undefined && !inner.isClosing && (inner.asked !== undefined || namelessTags.includes(inner.name));
      if (isWrapper) return { start: at, end: tag.end, calls: [] };
    }
    const head = this.#text.slice(from, from + 140);
    if (head.length < 140 && /^[\w.:/-]*\s*$/.test(head)) this.#source.wait();
    if (!/^(?:[[{<`]|[\w.:/-]+\s*[[{<`(\n])/.test(head) && !/^[\w.:/-]+[ \t]*\n/.test(head)) return this.#none(tag.end);
    const extent = this.#extent(tag, undefined);
    const source = this.#text.slice(tag.end, extent.to);
    const calls = readCalls(source, this.#names);
    if (calls === undefined) return this.#broken(at, extent.end);
    return { start: at, end: extent.end, calls: calls.map((call) => ({ ...call, source })) };
  }

  /** `<bash><command>ls</command></bash>`: text, unless it is all arguments of that tool. */
  #element(at: number, { written, end }: Tag, tool: ShownTool): Block | Stop {
    const properties = Object.keys((tool.shownParameters["properties"] as object | undefined) ?? {}); // schema of an object
    const close = `</${written}>`;
    const from = spaceEnd(this.#text, end);
    const head = this.#text.slice(from, from + 140);
    const child = /^<([\w.-]*)(>?)/.exec(head);
    const isChild = properties.some((key) =>
      child?.[2] === ">" ? key === child[1] : key.startsWith(child?.[1] ?? ""),
    );
    if (
      head !== "" &&
      !head.startsWith("{") &&
      !close.startsWith(head) &&
      !head.startsWith(close) &&
      (child === null || !isChild)
    )
      return this.#none(end);
    const to = this.#text.indexOf(close, end);
    if (to === -1) return this.#open();
    const body = this.#text.slice(end, to).trim();
    const value = body === "" ? {} : (xmlArguments(body, tool) ?? wholeJson(body));
    if (value === undefined || (body === "" && properties.length > 0)) return this.#none(to + close.length);
    return { start: at, end: to + close.length, calls: [{ asked: written, tool, arguments: value }] };
  }
}

/** Whether a line closes a fence that was opened with `marker`. */
export function closesFence(line: string, marker: string): boolean {
  const trimmed = line.trim();
  return trimmed.length >= marker.length && trimmed === marker.charAt(0).repeat(trimmed.length);
}
