import type { ShownTool } from "../names.ts";
import { continueJson } from "./continue-json.ts";
import { equalJson } from "./equal-json.ts";
import { repairArguments } from "./repair-arguments.ts";
import type { Misfit } from "./schema-check.ts";

/** `raw`: the text that the value was read from, where it is known. */
export interface ReadArguments {
  readonly value: unknown;
  readonly raw: string | undefined;
}

/** `rest`: the part of the arguments that must still be sent. `misses`: the finer rules that they break. */
export type CheckedArguments =
  | { readonly ok: true; readonly rest: string; readonly changed: boolean; readonly misses?: string | undefined }
  | { readonly ok: false; readonly message: string };

/** Checks a call's arguments and repairs them if possible. `sent`: the part that readers already got. */
export function checkArguments(tool: ShownTool, { value, raw }: ReadArguments, sent: string): CheckedArguments {
  if (tool.tool.kind === "freeform") return freeformText(value);
  const repaired = repairArguments(value, tool.check());
  const misses = repaired.ok ? undefined : textOf(repaired.misfits);
  if (repaired.value === undefined) return { ok: false, message: misses ?? "" };
  const { changed } = repaired;
  if (tool.wrappedIn !== undefined) {
    return { ok: true, rest: JSON.stringify(repaired.value[tool.wrappedIn]), changed, misses };
  }
  const strict = raw !== undefined && isStrict(raw);
  const asWritten = strict && !changed && equalJson(JSON.parse(raw), value) && raw.startsWith(sent);
  const rest = asWritten ? raw.slice(sent.length) : continueJson(sent, repaired.value);
  if (rest === undefined) {
    return {
      ok: false,
      message: "the corrected arguments differ from the part that was already sent; repeat that part as it was",
    };
  }
  return { ok: true, rest, changed: changed || (raw !== undefined && !strict), misses };
}

/** A freeform tool's text, also from an object that contains only that text. */
function freeformText(value: unknown): CheckedArguments {
  if (typeof value === "string") return { ok: true, rest: value, changed: false };
  const members = typeof value === "object" && value !== null ? Object.values(value) : [];
  const [only] = members;
  if (members.length === 1 && typeof only === "string") return { ok: true, rest: only, changed: true };
  return { ok: false, message: "this tool takes plain text between the tags, no JSON" };
}

function textOf(misfits: readonly Misfit[]): string {
  return misfits
    .slice(0, 5)
    .map(({ text }) => text)
    .join("; ");
}

function isStrict(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
