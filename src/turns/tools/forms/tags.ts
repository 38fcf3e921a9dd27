import { callTag, markedName } from "../grammar.ts";
import type { ToolNames } from "../names.ts";
import { matchFrom } from "./places.ts";

/** What a tag with a name of ours is for. */
export type TagKind =
  /** A call, also without a tool's name in the tag. */
  | "call"
  /** A call of the tool that it names. */
  | "named"
  /** A call if it names an offered tool. */
  | "loose"
  /** Something around calls. */
  | "wrapper"
  /** A part of the prompt: models close it after a call without having opened it. */
  | "frame"
  /** A result, which no model has to write. */
  | "invented"
  | "thoughts"
  | "summary"
  /** An offered tool. */
  | "tool";

const namesOf: Readonly<Record<Exclude<TagKind, "tool">, string>> = {
  call: `${callTag} tool-call toolcall function_call tool_use`,
  named: "invoke use_tool call_tool",
  loose: "function tool call",
  wrapper: "tool_calls function_calls tool_uses",
  frame: "message conversation assistant",
  invented: "tool_result tool_response tool_output function_result function_results function_response",
  thoughts: "think thinking",
  summary: "summary",
};

/** An opening or closing tag, read from a model's text. */
export interface Tag {
  readonly kind: TagKind;
  /** In lower case, without a namespace and without the mark of another turn. */
  readonly name: string;
  readonly written: string;
  readonly isClosing: boolean;
  readonly isSelfClosing: boolean;
  /** Whether it has the mark of this turn. */
  readonly isMarked: boolean;
  /** The tool that it names, in an attribute or after an equals sign. */
  readonly asked: string | undefined;
  readonly attributes: ReadonlyMap<string, string>;
  /** The place after it. */
  readonly end: number;
}

/** A tag that names a tool. */
export type NamingTag = Tag & { readonly asked: string };

/** How much of a tag is looked at. */
const tagWindow = 4_096;

/** Reads tags: those of the forms that models know, of the offered tools, and of the turn's mark. */
export class TagReader {
  /** The start and the end of the taught form, and what is either of them. */
  readonly own: { readonly opener: string; readonly closer: string; readonly either: RegExp };
  readonly #kinds = new Map<string, TagKind>();
  readonly #ownName: string;

  constructor({ tools }: ToolNames, mark: string) {
    this.#ownName = `${callTag}-${mark}`;
    const [opener, closer] = [`<${this.#ownName} `, `</${this.#ownName}>`];
    this.own = { opener, closer, either: new RegExp(`${opener}|${closer}`) };
    for (const { shownName } of tools) this.#kinds.set(shownName.toLowerCase(), "tool");
    for (const [kind, names] of Object.entries(namesOf) as [TagKind, string][]) // its keys are kinds
      for (const name of names.split(" ")) this.#kinds.set(name, kind);
  }

  /** What is missing of the closing tag in which a text ends: of one that it opened, or after calls of any that may stand there. */
  missing(text: string, isAfterCalls: boolean): string {
    const begun = /<\/\s{0,9}([\w.:-]*)$/.exec(text.slice(-200))?.[1]?.toLowerCase();
    if (begun === undefined) return "";
    const opened = Array.from(text.matchAll(/<([\w.:-]+)/g), ([, written = ""]) => written.toLowerCase()).reverse();
    const names = isAfterCalls && begun !== "" ? [...opened, ...this.#kinds.keys()] : opened;
    const name = names.find((each) => each.startsWith(begun) && this.#closesCalls(each.replace(/^.*:/, "")));
    return name === undefined ? "" : `${name.slice(begun.length)}>`;
  }

  #closesCalls(name: string): boolean {
    const kind = this.#kinds.get(name) ?? this.#kinds.get(unmarked(name));
    return kind !== undefined && !["invented", "thoughts", "summary"].includes(kind);
  }

  /** Reads the tag at the start of a text. Undefined: it is none of ours; "open": it may become one. */
  read(whole: string): Tag | "open" | undefined {
    const text = whole.slice(0, tagWindow);
    const [start, slash, written = ""] = /^<(\/?)\s{0,8}(?:[a-z]{1,20}:)?([\w.-]*)/i.exec(text) ?? [];
    if (start === undefined) return undefined;
    if (start === whole) return "open";
    const lower = written.toLowerCase();
    const name = this.#kinds.has(lower) ? lower : unmarked(lower);
    const kind = this.#kinds.get(name);
    if (kind === undefined) return undefined;
    const attributes = new Map<string, string>();
    let equals: string | undefined;
    let place = start.length;
    const one = /\s*(?:(=)\s*["']?([\w.:/-]+)["']?|([\w:.-]+)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+?(?=\/?>|\s))))/y;
    for (let match = matchFrom(one, text, place); match !== null; match = matchFrom(one, text, place)) {
      const [pair, isEquals, tool, key = "", double, single, bare = ""] = match;
      if (isEquals === undefined) attributes.set(key, double ?? single ?? bare);
      else if (place === start.length) equals = tool;
      else break;
      place += pair.length;
    }
    const closed = matchFrom(/\s*(\/?)>/y, text, place);
    if (closed === null) {
      const isOpen = /^(?:[^<>"']|"[^"]*(?:"|$)|'[^']*(?:'|$))*$/.test(text.slice(1));
      return isOpen && text.length < tagWindow ? "open" : undefined;
    }
    const nameKey = [...attributes.keys()].find((key) => /^(?:name|tool|tool_name|function)$/i.test(key));
    const asked = equals ?? attributes.get(nameKey ?? "");
    attributes.delete(nameKey ?? "");
    return {
      kind,
      name,
      written,
      isClosing: slash === "/",
      isSelfClosing: closed[1] === "/",
      isMarked: lower === this.#ownName,
      asked,
      attributes,
      end: place + closed[0].length,
    };
  }
}

/** A tag's name without the mark that another turn gave it. */
function unmarked(name: string): string {
  return markedName.exec(name)?.[1] ?? name.replace(/-\d{1,3}$/, "");
}
