import { isObject, type JsonObject, numberOf, writeJson } from "../../base/json.ts";
import type { Message, ToolCall } from "../../log/request.ts";
import { parseContent } from "./content.ts";
import type { History } from "./history.ts";
import { resultContent } from "./parse-body.ts";

/*
 * Calls and results of a history, in the members of any API. They are read, not judged: clients change what they send back, and a
 * conversation that was refused once would be refused for ever.
 */

/** A call. Without a name it is left out; its result is the user's text then. `pairResults` gives an id to a call without one. */
export function readCall(
  given: { readonly id: unknown; readonly name: unknown; readonly input: unknown; readonly kind?: ToolCall["kind"] },
  history: History,
): ToolCall[] {
  const { id, name, input, kind = "function" } = given;
  if (typeof name !== "string" || name === "") {
    history.leaveOut("call without a name");
    return [];
  }
  const written = typeof input === "string" ? input : writeJson(input ?? {});
  return [{ callId: idOf(id), name, arguments: kind === "function" ? written.trim() || "{}" : written, kind }];
}

/** A result: its text, or its parts. `path`: where its content stands in the body. */
export function readResult(
  given: { readonly id: unknown; readonly name?: unknown; readonly content: unknown; readonly isError?: boolean },
  path: string,
  history: History,
): Message {
  const { id, name, content, isError = false } = given;
  const named = typeof name === "string" && name !== "" ? { name } : {};
  return {
    role: "tool",
    callId: idOf(id),
    ...named,
    parts: parseContent(resultContent(content), path, history),
    isError,
  };
}

/** What a client has in place of a list or an object counts as nothing. */
export function objectsIn(list: unknown): readonly JsonObject[] {
  return Array.isArray(list) ? list.filter(isObject) : [];
}

function idOf(given: unknown): string {
  return typeof given === "string" ? given : numberOf(given) === undefined ? "" : writeJson(given);
}
