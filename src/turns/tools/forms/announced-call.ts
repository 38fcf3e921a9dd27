import { isObject } from "../../../base/json.ts";
import { parsedJson } from "../arguments/json.ts";
import type { ShownTool, ToolNames } from "../names.ts";

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
