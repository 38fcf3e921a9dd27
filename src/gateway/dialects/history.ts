import { isMillraceError } from "../../base/errors.ts";
import { isObject, type JsonObject } from "../../base/json.ts";
import type { Message, Part, ToolCall } from "../../log/request.ts";
import { bounds } from "./bounds.ts";
import { refuse, textParts } from "./parse-body.ts";

/** The speaker of a message or item, in any API. `tool`: it holds the result of a call. */
export type Speaker = "user" | "assistant" | "tool" | "other";

/**
 * The index from which messages are the newest request's own: those after the assistant's last one. A message after the result of a tool
 * is the client's, not its user's (Claude Code adds the files that its tools read): then there are none.
 */
function newestFrom(speakers: readonly Speaker[]): number {
  const from = speakers.lastIndexOf("assistant") + 1;
  return speakers.includes("tool", from) ? speakers.length : from;
}

/** A message of a body, of any API. */
export type WireMessage = JsonObject & { readonly role: string };

/**
 * A message is never refused for one part: an item, block or message that cannot be read is left out, and named in `x-millrace-left-out`. A client
 * cannot mend it, so it is no reason to end a conversation. A request is refused if nothing of the user's newest messages can be read.
 * Source: docs/http-api.md, "What the APIs get".
 */
export class History {
  readonly #leftOut = new Set<string>();
  readonly #ofNewest = new Set<string>();
  /** Why the first part of a newest message was left out. */
  #why: unknown;
  /** What is read now belongs to a newest message of the user. */
  #isNewest = true;

  /** Types that were left out, each once. */
  get leftOut(): readonly string[] {
    return [...this.#leftOut];
  }

  leaveOut(type: string): void {
    if (this.#leftOut.size < bounds.names) this.#leftOut.add(type.slice(0, 60));
    if (this.#isNewest && this.#ofNewest.size < bounds.names) this.#ofNewest.add(type.slice(0, 60));
  }

  /** Reads something that is no message of the user, such as a system prompt. */
  readOther<T>(read: () => T): T {
    this.#isNewest = false;
    const value = read();
    this.#isNewest = true;
    return value;
  }

  /** The speakers of what is read next, in order: `at` then says which of them is read. */
  reader(speakers: readonly Speaker[]): { readonly at: (index: number) => void } {
    const newest = newestFrom(speakers);
    return { at: (index) => (this.#isNewest = index >= newest && speakers[index] === "user") };
  }

  /**
   * Messages as `read` gives them; what is no message is left out. `member`: where they stand in the body.
   *
   * @throws MillraceError `invalid_request` if everything of the newest request was left out.
   */
  readMessages(
    given: readonly unknown[],
    speakerOf: (message: WireMessage) => Speaker,
    read: (message: WireMessage, path: string) => Message[],
    member = "messages",
  ): Message[] {
    const reader = this.reader(given.map((message) => (isMessage(message) ? speakerOf(message) : "other")));
    const messages = given.flatMap((message, i) => {
      reader.at(i);
      if (isMessage(message)) return read(message, `${member}[${i}]`);
      this.leaveOut("message");
      return [];
    });
    this.refuseUnreadable(messages, member);
    return pairResults(messages);
  }

  /**
   * @throws MillraceError `invalid_request` if nothing was read, or nothing of the newest messages of the user. `param`: where they stand.
   */
  refuseUnreadable(messages: readonly Message[], param: string): void {
    const asked = messages.slice(messages.findLastIndex(({ role }) => role === "assistant") + 1);
    const isAsked = asked.some(({ role, parts }) => role === "tool" || (role === "user" && parts.length > 0));
    const unread = messages.length === 0 ? this.#leftOut : isAsked ? [] : this.#ofNewest;
    const names = [...unread].join(", ");
    if (names !== "") throw this.#why ?? refuse(param, `Nothing of the newest message can be read here: ${names}.`);
  }

  /** What `read` gives; `otherwise` where it refuses it. */
  read<T>(type: string, read: () => T, otherwise: T): T {
    try {
      return read();
    } catch (error) {
      if (!isMillraceError(error) || error.code !== "invalid_request") throw error;
      if (this.#isNewest) this.#why ??= error;
      this.leaveOut(type);
      return otherwise;
    }
  }

  /** Leaves out a picture or file that cannot be read. The note that stands in its place for the model. `what`: "a PDF". */
  leaveOutFile(type: string, what: string): Part[] {
    const how = /image|picture|audio|video/i.test(what) ? "" : "; extract its text with a command";
    this.leaveOut(type);
    return textParts([`[${what} that this gateway cannot read${how}]`]);
  }
}

/**
 * Calls with an id each, and results at the calls that they answer. A result without an id answers the first open call of its name; one without
 * a name too, the first open call. A result whose call is not here is the user's text: clients shorten their history between a call and its
 * result, and some bring news in this form.
 */
export function pairResults(messages: readonly Message[]): Message[] {
  const open: ToolCall[] = [];
  const asked = new Set<string>();
  let made = 0;
  const withId = (call: ToolCall): ToolCall => {
    let { callId } = call;
    while (callId === "" || (call.callId === "" && asked.has(callId))) callId = `call_${made++}`;
    asked.add(callId);
    return { ...call, callId };
  };
  return messages.map((message) => {
    if (message.role === "assistant") {
      const toolCalls = message.toolCalls.map(withId);
      open.push(...toolCalls);
      return { ...message, toolCalls };
    }
    if (message.role !== "tool") return message;
    const { callId: id, name, parts } = message;
    const at = open.findIndex((call) => (id ? call.callId === id : !name || call.name === name));
    const [call] = at < 0 ? [] : open.splice(at, 1);
    if (id === "" && call !== undefined) return { ...message, callId: call.callId, name: call.name };
    if (asked.has(id)) return message;
    return { role: "user", parts: [...textParts([`Result of ${name ? `\`${name}\`` : "a tool"}:\n`]), ...parts] };
  });
}

function isMessage(given: unknown): given is WireMessage {
  return isObject(given) && typeof given["role"] === "string";
}
