import { isMillraceError } from "../../base/errors.ts";
import type { Message, Part } from "../../log/request.ts";
import { refuse, textParts } from "./parse-body.ts";

/** The speaker of a message or item, in any API. `tool`: it holds the result of a call. */
export type Speaker = "user" | "assistant" | "tool" | "other";

/**
 * The index from which messages are the newest request's own: those after the assistant's last one. A message after the result of a tool
 * is the client's, not its user's (Claude Code adds the files that its tools read): then there are none.
 */
export function newestFrom(speakers: readonly Speaker[]): number {
  const from = speakers.lastIndexOf("assistant") + 1;
  return speakers.includes("tool", from) ? speakers.length : from;
}

const mostNames = 20;

/**
 * A history is read, not judged: an item, block or message that cannot be read is left out, and named in `x-millrace-left-out`. Only the
 * newest request's own content is refused. Pairs of calls and results are checked everywhere. Source: docs/http-api.md, "What the APIs get".
 */
export class History {
  readonly #leftOut = new Set<string>();
  readonly #ofNewest = new Set<string>();
  /** What is read now belongs to the newest request. */
  isNewest = true;

  /** Types that were left out, each once. */
  get leftOut(): readonly string[] {
    return [...this.#leftOut];
  }

  leaveOut(type: string): void {
    if (this.#leftOut.size < mostNames) this.#leftOut.add(type.slice(0, 60));
    if (this.isNewest && this.#ofNewest.size < mostNames) this.#ofNewest.add(type.slice(0, 60));
  }

  /**
   * @throws MillraceError `invalid_request` if everything of the newest request was left out. `param`: where its messages stand.
   */
  refuseUnreadable(messages: readonly Message[], param: string): void {
    const newest = messages.slice(messages.findLastIndex(({ role }) => role === "assistant") + 1);
    const isUnread = newest.every(({ role, parts }) => role !== "tool" && parts.length === 0);
    if (!isUnread || this.#ofNewest.size === 0) return;
    throw refuse(param, `Nothing of the newest message can be read here: ${[...this.#ofNewest].join(", ")}.`);
  }

  /** What `read` gives; `otherwise` where it refuses something that stands in the history. */
  read<T>(type: string, read: () => T, otherwise: T): T {
    try {
      return read();
    } catch (error) {
      if (this.isNewest || !isMillraceError(error) || error.code !== "invalid_request") throw error;
      this.leaveOut(type);
      return otherwise;
    }
  }

  /** The parts of a picture or file; in the history, a note in its place if it cannot be read. `what`: "a PDF". */
  readFile(type: string, what: string, read: () => Part[]): Part[] {
    const how = /image|picture|audio|video/i.test(what) ? "" : "; extract its text with a command";
    return this.read(type, read, textParts([`[${what} that this gateway cannot read${how}]`]));
  }
}
