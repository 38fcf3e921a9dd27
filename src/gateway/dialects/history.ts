import { isMillraceError } from "../../base/errors.ts";
import { isObject, type JsonObject } from "../../base/json.ts";
import type { Message, Part } from "../../log/request.ts";
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
 * A history is read, not judged: an item, block or message that cannot be read is left out, and named in `x-millrace-left-out`. Only what
 * the newest messages of the user themselves bring is refused. Pairs of calls and results are checked everywhere.
 * Source: docs/http-api.md, "What the APIs get".
 */
export class History {
  readonly #leftOut = new Set<string>();
  readonly #ofNewest = new Set<string>();
  /** What is read now belongs to a newest message of the user. */
  #isNewest = true;

  readonly #unnamed = new Set<string>();

  /** An id for a result that names no call: its call is not missed. */
  unnamedCall(): string {
    const id = `unnamed_${this.#unnamed.size}`;
    this.#unnamed.add(id);
    return id;
  }

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
   * Messages as `read` gives them; what is no message is left out.
   *
   * @throws MillraceError `invalid_request` if everything of the newest request was left out.
   */
  readMessages(
    given: readonly unknown[],
    speakerOf: (message: WireMessage) => Speaker,
    read: (message: WireMessage, path: string) => Message[],
  ): Message[] {
    const reader = this.reader(given.map((message) => (isMessage(message) ? speakerOf(message) : "other")));
    const messages = given.flatMap((message, i) => {
      reader.at(i);
      if (isMessage(message)) return read(message, `messages[${i}]`);
      this.leaveOut("message");
      return [];
    });
    this.refuseUnreadable(messages, "messages");
    refuseUnasked(messages, "messages", this.#unnamed);
    return messages;
  }

  /**
   * @throws MillraceError `invalid_request` if nothing was read, or nothing of the newest messages of the user. `param`: where they stand.
   */
  refuseUnreadable(messages: readonly Message[], param: string): void {
    const asked = messages.slice(messages.findLastIndex(({ role }) => role === "assistant") + 1);
    const isAsked = asked.some(({ role, parts }) => role === "tool" || (role === "user" && parts.length > 0));
    const unread = messages.length === 0 ? this.#leftOut : isAsked ? [] : this.#ofNewest;
    const names = [...unread].join(", ");
    if (names !== "") throw refuse(param, `Nothing of the newest message can be read here: ${names}.`);
  }

  /** What `read` gives; `otherwise` where it refuses something that stands in the history. */
  read<T>(type: string, read: () => T, otherwise: T): T {
    try {
      return read();
    } catch (error) {
      if (this.#isNewest || !isMillraceError(error) || error.code !== "invalid_request") throw error;
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

/**
 * Refuses the result of a call that nobody made, where it is what the model shall answer. Before an answer it is read: clients that shorten
 * their history cut between a call and its result, and a refusal would end the conversation for good.
 */
export function refuseUnasked(messages: readonly Message[], param: string, unnamed: Iterable<string> = []): void {
  const calls = messages.flatMap((message) => (message.role === "assistant" ? message.toolCalls : []));
  const asked = new Set([...unnamed, ...calls.map(({ callId }) => callId)]);
  const newest = messages.slice(messages.findLastIndex(({ role }) => role === "assistant") + 1);
  const unasked = newest.find((message) => message.role === "tool" && !asked.has(message.callId));
  if (unasked?.role !== "tool") return;
  const what = `No call ${unasked.callId.slice(0, 60)} stands before this result.`;
  throw refuse(param, what, "Send the message with the call as well, and give call and result the same id.");
}

function isMessage(given: unknown): given is WireMessage {
  return isObject(given) && typeof given["role"] === "string";
}
