import { isObject } from "../../src/base/json.ts";
import type { Recorded } from "./recorder.ts";

/** Headers whose values say nothing of the client's form: made anew each time, or secret. */
const replaced =
  /^(?:authorization|x-api-key|x-goog-api-key|x-gemini-.*|host|content-length|connection|.*session.*|.*thread.*|.*request-id.*|x-codex-.*|user-agent|x-opencode-.*|traceparent|.*affinity.*)$/;
/** Keys whose values are names of the wire, not prose, up to a length that no prose has. */
const wireKeys = new Set([
  "type",
  "role",
  "model",
  "name",
  "object",
  "tool_choice",
  "effort",
  "reasoning_effort",
  "summary",
  "verbosity",
  "format",
  "media_type",
  "detail",
  "display",
  "keep",
  "status",
  "truncation",
  "service_tier",
  "wire_api",
  "syntax",
  "include",
  "required",
  "enum",
]);

/** Ids of one request by our own: what is paired by id stays paired, what is apart stays apart. */
type Ids = Map<string, string>;

/** A request with every prose text replaced by our own; fields, nesting, header names and which ids are equal stay. */
export function shapeOf({ method, path, headers, body }: Recorded): unknown {
  const shown = Object.entries(headers)
    .map(([name, value]) => [name, replaced.test(name) ? "…" : value] as const)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return {
    method,
    path,
    headers: Object.fromEntries(shown),
    body: body === "" ? null : withoutProse(parsed(body), "", new Map()),
  };
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return "not JSON";
  }
}

function withoutProse(value: unknown, key: string, ids: Ids): unknown {
  if (typeof value === "string") return ownText(value, key, ids);
  if (Array.isArray(value)) {
    const kept: readonly unknown[] = key === "messages" || key === "input" ? value : sample(value); // a conversation is one form
    return kept.map((item) => withoutProse(item, key, ids));
  }
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([name, member], at) => {
    // names of tools' members are the client's own words too, but they are its wire
    return [/^[\w$.-]{1,64}$/.test(name) ? name : `key_${at}`, withoutProse(member, name, ids)] as const;
  });
  return Object.fromEntries(entries);
}

/** Long lists keep their first and last entries, and the first of each type: enough for the form. */
function sample(items: readonly unknown[]): readonly unknown[] {
  const types = items.map((item) => (isObject(item) ? item["type"] : undefined));
  return items.filter((_, at) => at < 6 || at >= items.length - 2 || types.indexOf(types[at]) === at);
}

function ownText(text: string, key: string, ids: Ids): string {
  if (wireKeys.has(key) && /^[\w.:/$-]{0,64}$/.test(text)) return text;
  if (/^(?:call|toolu|fc|msg|rs|ctc)_/.test(text)) return ownId(text, ids);
  const inner = /^[{[]/.test(text) ? parsed(text) : undefined; // arguments, and what else is JSON inside a text
  if (typeof inner === "object" && inner !== null) return JSON.stringify(withoutProse(inner, "", ids));
  const dataUrl = /^data:[\w/;=.+-]*,/.exec(text)?.[0];
  if (dataUrl !== undefined) return `${dataUrl}iVBORw0KGgo=`;
  if (/^[A-Za-z0-9+/=]{80,}$/.test(text)) return "iVBORw0KGgo=";
  if (text.startsWith("x-anthropic-billing-header")) return "x-anthropic-billing-header: cc_version=0; cch=0;";
  if (text === "") return "";
  return `Text of ours, as long as ${text.length < 40 ? "a few words" : text.length < 400 ? "a sentence" : "a page"}.`;
}

function ownId(id: string, ids: Ids): string {
  const known = ids.get(id) ?? `${id.split("_")[0]}_${ids.size + 1}`;
  ids.set(id, known);
  return known;
}
