import { isObject } from "../../../base/json.ts";
import { parsedJson } from "../arguments/json.ts";
import type { ShownTool, ToolNames } from "../names.ts";
import { propertiesOf } from "./call-shapes.ts";

/** How much of the end of an answer is looked at: a promise stands in its last sentence. */
const lookedAt = 4_000;
const promise =
  /(?:^|[.!?\n]\s*|,\s*|\bso\s+)(?:now,?\s+)?(?:(?:next,?\s+)?I(?:['’]ll|['’]m| will| am)(?: now| going to| about to| then)*|let me(?: now)?|(?:now )?calling|next,?)\b[^.!?\n{]{0,120}$/i;

/**
 * The tool that an answer announces to call now, with fitting arguments, without calling it: `I will now call bash with
 * {"command":"ls"}.` at its very end, bare or fenced. A name without arguments, arguments that do not fit, and a promise with text
 * after it do not count.
 */
export function announcedCall(answer: string, names: ToolNames): ShownTool | undefined {
  const text = answer.trimEnd().slice(-lookedAt);
  const body = /\}(?=(?:\s*```|`)?[\s.!:;)]*$)/.exec(text);
  if (body === null) return undefined;
  const end = body.index + 1;
  for (let start = text.indexOf("{"); start !== -1 && start < end; start = text.indexOf("{", start + 1)) {
    const value = parsedJson(text.slice(start, end));
    if (!isObject(value)) continue; // a brace inside, or no JSON
    const before = text
      .slice(0, start)
      .replace(/(?:```[\w-]*\s*|`)$/, "")
      .trimEnd();
    const tool = names.tools.find(({ shownName }) => endsWithPromiseOf(before, shownName));
    if (tool === undefined || tool.tool.kind !== "function") return undefined;
    return tool.check().misfits(value).length === 0 ? tool : undefined;
  }
  return undefined;
}

/** Whether a text ends by saying that this tool is called now. */
function endsWithPromiseOf(text: string, name: string): boolean {
  const at = text.lastIndexOf(name);
  if (at === -1 || /[\w-]$/.test(text.slice(0, at)) || /^[\w-]/.test(text.slice(at + name.length))) return false;
  const [before, after] = [text.slice(0, at), text.slice(at + name.length)];
  return (
    promise.test(before) &&
    /\b(?:call|run|us|invok|execut)(?:e|ing)?\b/i.test(before.slice(-140)) &&
    !/[.!?{}]/.test(after) &&
    after.length <= 80
  );
}

/** Where a call of any form begins: a tag, a token, a fence, or a key before the name of a tool. */
const sign =
  /<[|｜\s]{0,3}(?:[a-z]{1,20}:)?(?:tool[_-]?calls?|function_calls?|tool_use|use_tool|call_tool|invoke|function|tool)(?![a-z_])|<[|｜](?:tool[_▁]call|python_tag|channel)|\[TOOL_CALL|\bAction[ \t]*:|(?:`{3,}|~{3,})[ \t]*(?:tool|function|call)|(["'])(?:name|tool|tool_name|function|action|recipient_name)\1\s*:/gi;
/** What stands beside the name of a tool in JSON. */
const argumentKey = /["'](?:arguments|args|parameters|params|(?:tool_|action_)?input|kwargs)["']\s*:/;
/** How far after its beginning a call names its tool, and its arguments begin. */
const [nameWithin, argumentsWithin] = [200, 2_000];
/** Calls may be long: their beginning is looked for in this much of the end of an answer. */
export const mostOfEnd = 1_000_000;

/**
 * The call of another form in which an answer ends, and its tool where it names one. Text that follows it says that it was only shown.
 */
export function callAtEnd(answer: string, names: ToolNames): { readonly tool: ShownTool | undefined } | undefined {
  const text = answer.trimEnd().slice(-mostOfEnd);
  if (!/[}\])>][\s`~.]*$/.test(text.slice(-40))) return undefined;
  const lastLine = text.replace(/\n[ \t]*(?:`{3,}|~{3,})[ \t]*$/, "").replace(/^[^]*\n/, "");
  if (!/^\s*(?:[<{[}\])"'`]|Action|\w+\()/.test(lastLine) && lastLine.search(sign) === -1) return undefined;
  const element = names.byShownName(/<\/([\w.:-]+)>[\s`~.]*$/.exec(text.slice(-200))?.[1] ?? "");
  if (element !== undefined && isElement(text, element)) return { tool: element };
  const tools = new Map(names.tools.map((tool) => [tool.shownName.toLowerCase(), tool]));
  let found: { readonly tool: ShownTool | undefined } | undefined;
  for (const { 0: begun, 1: quote, index } of text.matchAll(sign)) {
    if (quote !== undefined && !argumentKey.test(text.slice(index, index + argumentsWithin))) continue;
    if (begun.startsWith("<")) found ??= { tool: undefined };
    for (const [word] of text.slice(index, index + nameWithin).matchAll(/[\w:/-]+(?:\.[\w:/-]+)*/g)) {
      const tool =
        tools.get(word.toLowerCase()) ??
        tools.get(
          word
            .replace(/:\d+$/, "")
            .replace(/^.*[.:]/, "")
            .toLowerCase(),
        );
      if (tool !== undefined) return { tool };
    }
  }
  return found;
}

/** Whether the last element of this name holds arguments of the tool. */
function isElement(text: string, tool: ShownTool): boolean {
  const opener = `<${tool.shownName}>`;
  const inner = text.slice(text.lastIndexOf(opener) + opener.length).trimStart();
  const keys = Object.keys(propertiesOf(tool));
  return ["{", `</${tool.shownName}>`, ...keys.map((key) => `<${key}>`)].some((start) => inner.startsWith(start));
}
