import type { ShownTool, ToolNames } from "../names.ts";
import { findTool } from "./call-shapes.ts";

/** The reading of a text that begins a call. `length` is the number of characters that the opening takes. */
export type Opener =
  /** A tag that names its tool. `tool` undefined: no such tool. `clean`: exactly as taught. */
  | {
      readonly kind: "named";
      readonly length: number;
      readonly tag: string;
      readonly asked: string;
      readonly tool: ShownTool | undefined;
      readonly clean: boolean;
      /** Arguments that stand in the tag's own attributes. */
      readonly attributes: Readonly<Record<string, string>>;
      readonly selfClosing: boolean;
    }
  /** A tag around calls that name their tools themselves. */
  | { readonly kind: "nameless"; readonly length: number; readonly tag: string }
  /** An element named like a tool, with its arguments as child elements. */
  | { readonly kind: "element"; readonly length: number; readonly tag: string; readonly tool: ShownTool }
  /** A model's own control tokens around calls. */
  | { readonly kind: "tokens"; readonly length: number }
  /** The model's hidden thoughts, written into the text. */
  | { readonly kind: "thoughts"; readonly length: number; readonly tag: string }
  /** A result that the model made up, or the frame of the prompt. */
  | { readonly kind: "invented"; readonly length: number }
  /** A closing tag without anything open. */
  | { readonly kind: "stray"; readonly length: number };

const explicitTags = [
  "tool_call",
  "tool-call",
  "toolcall",
  "function_call",
  "invoke",
  "tool_use",
  "use_tool",
  "call_tool",
];
const looseTags = ["function", "tool", "call"];
const namelessTags = [
  "tool_call",
  "tool-call",
  "toolcall",
  "function_call",
  "tool_use",
  "tool_calls",
  "function_calls",
  "tool_uses",
];
const inventedTags = [
  "tool_result",
  "tool_response",
  "tool_output",
  "function_result",
  "function_results",
  "function_response",
  "conversation",
];
const thoughtTags = ["think", "thinking"];
const strayTags = [
  "message",
  "conversation",
  "tool_calls",
  "function_calls",
  "tool_call",
  "function_call",
  "invoke",
  "assistant",
];

/** Tokens that begin calls in the raw output of several model families. */
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

const attribute = /([\w:.-]+)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))/g;
const openTag =
  /^<\s*(?:[a-z]+:)?([\w-]+)((?:\s*=\s*["']?[\w.:/-]+["']?)?(?:\s+[\w:.-]+\s*=\s*(?:"[^"]*"|'[^']*'|[^\s"'>/]+))*)\s*(\/?)>/i;
const maxTagLength = 4_000;

/** Full-width and block characters that some models use inside their tokens, as plain ones of the same length. */
export function plainTokens(text: string): string {
  return text.replaceAll("｜", "|").replaceAll("▁", "_");
}

/** Reads the opening at the start of `text`, which begins with `<` or `[`. "more": undecided yet. Undefined: not part of a call. */
export function readOpener(text: string, names: ToolNames): Opener | "more" | undefined {
  return readToken(text) ?? (text.startsWith("<") ? readTag(text, names) : undefined);
}

function readToken(text: string): Opener | "more" | undefined {
  const plain = plainTokens(text.slice(0, 40));
  const token = tokens.find((candidate) => plain.startsWith(candidate));
  if (token !== undefined) return { kind: "tokens", length: token === "<|channel|>" ? 0 : token.length };
  return tokens.some((candidate) => candidate.startsWith(plain)) ? "more" : undefined;
}

function readTag(text: string, names: ToolNames): Opener | "more" | undefined {
  const close = /^<\/\s*(?:[a-z]+:)?([\w-]+?)(?:-\d+)?\s*>/i.exec(text);
  if (close !== null)
    return strayTags.includes(lower(close[1])) ? { kind: "stray", length: close[0].length } : undefined;
  const match = openTag.exec(text);
  if (match === null) return couldOpen(text, names) ? "more" : undefined;
  const tag = match[1] ?? "";
  const name = lower(tag).replace(/-\d+$/, "");
  const length = match[0].length;
  if (inventedTags.includes(name) || (name === "message" && /\brole\s*=/.test(match[2] ?? "")))
    return { kind: "invented", length };
  if (thoughtTags.includes(name)) return { kind: "thoughts", length, tag };
  return readNamed(match, names) ?? readBare(match, names);
}

function readNamed(match: RegExpExecArray, names: ToolNames): Opener | undefined {
  const [whole, tag = "", rest = "", slash] = match;
  const explicit = explicitTags.includes(lower(tag));
  if (!explicit && !looseTags.includes(lower(tag))) return undefined;
  const given = Object.fromEntries(
    [...rest.matchAll(attribute)].map((found) => [
      lower(found[1]) === "name" ? "name" : (found[1] ?? ""),
      found[2] ?? found[3] ?? found[4] ?? "",
    ]),
  );
  const equals = /^\s*=\s*["']?([\w.:/-]+)["']?/.exec(rest)?.[1];
  const nameKey = ["name", "tool", "tool_name", "function"].find((key) => Object.hasOwn(given, key));
  const asked = equals ?? (nameKey === undefined ? undefined : given[nameKey]);
  if (asked === undefined) return undefined;
  const tool = findTool(asked, names);
  if (tool === undefined && !explicit) return undefined;
  const attributes = Object.fromEntries(
    Object.entries(given).filter(([key]) => key !== nameKey && key !== "id" && key !== "call" && key !== "type"),
  );
  const clean = whole === `<tool_call name="${asked}">` && tool?.shownName === asked;
  return { kind: "named", length: whole.length, tag, asked, tool, clean, attributes, selfClosing: slash === "/" };
}

function readBare(match: RegExpExecArray, names: ToolNames): Opener | undefined {
  const [whole, tag = "", rest = "", slash] = match;
  if (slash === "/" || rest.trim() !== "") return undefined;
  if (namelessTags.includes(lower(tag))) return { kind: "nameless", length: whole.length, tag };
  const tool = names.byShownName(tag);
  return tool?.tool.kind === "function" ? { kind: "element", length: whole.length, tag, tool } : undefined;
}

/** Whether more text may make a tag of ours out of this beginning. */
function couldOpen(text: string, names: ToolNames): boolean {
  if (text.length > maxTagLength) return false;
  const known = [
    ...explicitTags,
    ...looseTags,
    ...namelessTags,
    ...inventedTags,
    ...thoughtTags,
    ...strayTags,
    ...names.tools.map(({ shownName }) => lower(shownName)),
  ];
  const name = /^<\/?\s*(?:[a-z]+:)?([\w.-]*)/i.exec(text);
  if (name === null) return false;
  const written = lower(name[1]);
  if (name[0].length === text.length)
    return (
      written === "" || "antml".startsWith(written) || known.some((tag) => tag.startsWith(written.replace(/-\d*$/, "")))
    );
  if (written === "antml" && text.length === name[0].length + 1) return true;
  return (
    known.includes(written.replace(/-\d+$/, "")) &&
    /^[^<>]*$/.test(text.slice(1).replace(/"[^"]*("|$)|'[^']*('|$)/g, ""))
  );
}

function lower(text: string | undefined): string {
  return (text ?? "").toLowerCase();
}
