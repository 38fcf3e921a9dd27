import type { JsonObject } from "../../../base/json.ts";
import type { Message } from "../../../log/request.ts";

const prefix = "millrace.1.";

/** Notes as the opaque text of a compaction item. It is packed, not encrypted: it goes back to the client whose conversation it is. */
export function packNotes(notes: string): string {
  return prefix + btoa(encodeURIComponent(notes));
}

/** The notes of a compaction item of ours as a message; undefined for another vendor's, which nobody here can read. */
export function notesOf({ encrypted_content: given }: JsonObject): Message | undefined {
  if (typeof given !== "string" || !given.startsWith(prefix)) return undefined;
  try {
    const text = decodeURIComponent(atob(given.slice(prefix.length)));
    return { role: "user", parts: [{ type: "text", text: `Notes of the conversation before this point:\n\n${text}` }] };
  } catch {
    return undefined;
  }
}
