import type { TurnRequest } from "./request.ts";

/** How much of a question a list shows, in characters. */
const longest = 120;

/**
 * The first line of the user's newest question, shortened; undefined if there is none. Clients put blocks of their own before a question, such
 * as `<environment_context>…</environment_context>`: these are left out.
 */
export function questionOf({ messages }: Pick<TurnRequest, "messages">): string | undefined {
  for (const { role, parts } of messages.toReversed()) {
    if (role !== "user") continue;
    for (const part of parts) {
      const text = part.type === "text" ? withoutBlocks(part.text) : "";
      if (text !== "") return shortened(text.slice(0, 10 * longest).split("\n", 1)[0] ?? "");
    }
  }
  return undefined;
}

function withoutBlocks(text: string): string {
  let rest = text.trimStart();
  for (;;) {
    const close = `</${/^<([A-Za-z][\w-]{0,60})>/.exec(rest)?.[1]}>`;
    const end = rest.indexOf(close);
    if (end < 0) return rest;
    rest = rest.slice(end + close.length).trimStart();
  }
}

function shortened(line: string): string {
  const letters = Array.from(line.trimEnd()); // whole code points: half an emoji is none
  return letters.length <= longest ? letters.join("") : `${letters.slice(0, longest - 1).join("")}…`;
}
