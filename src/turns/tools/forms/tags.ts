import { callTag, markedName } from "../grammar.ts";
import type { ToolNames } from "../names.ts";
import { matchFrom, type Source } from "./source.ts";

/** An opening or closing tag, read from a model's text. */
export interface Tag {
  /** In lower case, without a namespace and without the mark of another turn. */
  readonly name: string;
  readonly written: string;
  readonly isClosing: boolean;
  readonly isSelfClosing: boolean;
  /** Whether it has the mark of this turn. */
  readonly isMarked: boolean;
  /** Whether it carries anything but its name. */
  readonly isBare: boolean;
  /** The tool that it names, in an attribute or after an equals sign. */
  readonly asked: string | undefined;
  /** Its other attributes that may be arguments. */
  readonly attributes: Readonly<Record<string, string>>;
  /** The place after it. */
  readonly end: number;
}

export const namelessTags = ["tool_call", "tool-call", "toolcall", "function_call", "tool_use"];
/** Tags that only a call has. */
export const explicitTags = [...namelessTags, "invoke", "use_tool", "call_tool"];
/** Tags of a call if they name an offered tool. */
export const looseTags = ["function", "tool", "call"];
export const wrapperTags = ["tool_calls", "function_calls", "tool_uses"];
export const inventedTags = [
  "tool_result",
  "tool_response",
  "tool_output",
  "function_result",
  "function_results",
  "function_response",
  "conversation",
];
export const thoughtTags = ["think", "thinking"];
/** Tags that models close after a call without having opened them. */
export const strayTags = [
  ...wrapperTags,
  ...namelessTags,
  "invoke",
  "function",
  "message",
  "conversation",
  "assistant",
];

/** Beginnings of calls in the raw output of several model families. */
const tokens = [
  "<|tool_calls_section_begin|>",
  "<|tool_call_begin|>",
  "<|tool_calls_begin|>",
  "<|python_tag|>",
  "<|channel|>",
  "<|tool_call|>",
  "[TOOL_CALLS]",
  "[TOOL_CALL]",
];

/** How much of a tag or token is looked at. */
const tagWindow = 4_096;

/** Reads tags: those of the forms that models know, of the offered tools, and of the turn's mark. */
export class TagReader {
  readonly names: ToolNames;
  readonly #known: ReadonlySet<string>;
  readonly #own: string;
  /** The start and the end of the taught form, and what is either of them. */
  readonly own: { readonly opener: string; readonly closer: string; readonly either: RegExp };

  constructor(names: ToolNames, mark: string) {
    this.names = names;
    this.#own = `${callTag}-${mark}`;
    const [opener, closer] = [`<${this.#own} `, `</${this.#own}>`];
    this.own = { opener, closer, either: new RegExp(`${opener}|${closer}`) };
    const tools = names.tools.map(({ shownName }) => shownName.toLowerCase());
    this.#known = new Set([
      ...explicitTags,
      ...looseTags,
      ...inventedTags,
      ...thoughtTags,
      ...strayTags,
      "summary",
      ...tools,
    ]);
  }

  /** Whether a tag of ours may begin at `at`, where a `<` is: decided by its name. "more": the name is not whole yet. */
  mayBegin(text: string, at: number): "yes" | "no" | "more" {
    const start = /<(\/?)\s{0,8}(?:([a-z]{1,20}):)?([\w.-]{0,130})/iy;
    const [found = "", , space = "", written = ""] = matchFrom(start, text, at) ?? [];
    const isOpen = at + found.length >= text.length;
    const name = written.toLowerCase();
    if (!isOpen) return [name, unmarked(name)].some((one) => this.#known.has(one) || one === this.#own) ? "yes" : "no";
    if (space !== "" && name === "") return "more";
    for (const known of this.#known) {
      if (known.startsWith(name) || (name.startsWith(`${known}-`) && name.length <= known.length + 8)) return "more";
    }
    return "antml".startsWith(name) ? "more" : "no";
  }

  /** Reads the tag at `at`. Undefined: it is none of ours. */
  read(source: Source, at: number): Tag | undefined {
    const may = this.mayBegin(source.text, at);
    if (may === "more") source.wait();
    if (may !== "yes") return undefined;
    const window = source.text.slice(at, at + tagWindow);
    const head = /^<(\/?)\s{0,8}(?:[a-z]{1,20}:)?([\w.-]+)/i.exec(window);
    if (head === null) return undefined;
    const [whole, slash, written = ""] = head;
    const lower = written.toLowerCase();
    const given = new Map<string, string>();
    let equals: string | undefined;
    let place = whole.length;
    const one = /\s*(?:(=)\s*["']?([\w.:/-]+)["']?|([\w:.-]+)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+?(?=\/?>|\s))))/y;
    for (let isFirst = true; ; isFirst = false) {
      const match = matchFrom(one, window, place);
      if (match === null || (match[1] !== undefined && !isFirst)) break;
      if (match[1] === undefined) given.set(match[3] ?? "", match[4] ?? match[5] ?? match[6] ?? "");
      else equals = match[2];
      place += match[0].length;
    }
    const closed = matchFrom(/\s*(\/?)>/y, window, place);
    if (closed === null) {
      if (window.length < tagWindow && /^[^<>]*$/.test(withoutQuotes(window.slice(1)))) source.wait();
      return undefined;
    }
    const nameKey = [...given.keys()].find((key) => /^(?:name|tool|tool_name|function)$/i.test(key));
    const asked = equals ?? (nameKey === undefined ? undefined : given.get(nameKey));
    const ids = new Set([nameKey, "id", "call", "type"]);
    return {
      name: unmarked(lower),
      written,
      isClosing: slash === "/",
      isSelfClosing: closed[1] === "/",
      isMarked: lower === this.#own,
      isBare: given.size === 0 && equals === undefined,
      asked,
      attributes: Object.fromEntries([...given].filter(([key]) => !ids.has(key))),
      end: at + place + closed[0].length,
    };
  }

  /** The length of the token that begins at `at`; 0 if none does. "more": it is not whole yet. */
  tokenAt(text: string, at: number): number | "more" {
    if (at + 1 < text.length && !"|｜T".includes(text.charAt(at + 1))) return 0; // most brackets are ordinary code
    const plain = plainTokens(text.slice(at, at + 40));
    const token = tokens.find((candidate) => plain.startsWith(candidate));
    if (token !== undefined) return token.length;
    return tokens.some((candidate) => candidate.startsWith(plain)) ? "more" : 0;
  }

  toolNamed({ written }: Tag) {
    const tool = this.names.byShownName(written);
    return tool?.tool.kind === "function" ? tool : undefined;
  }
}

/** Full-width and block characters that some models use inside their tokens, as plain ones of the same length. */
export function plainTokens(text: string): string {
  return text.replaceAll("｜", "|").replaceAll("▁", "_");
}

/** A tag's name without the mark that another turn gave it. */
function unmarked(name: string): string {
  return markedName.exec(name)?.[1] ?? name.replace(/-\d{1,3}$/, "");
}

function withoutQuotes(text: string): string {
  return text.replace(/"[^"]*("|$)|'[^']*('|$)/g, "");
}
