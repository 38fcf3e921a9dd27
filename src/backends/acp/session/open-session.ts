import type { CascadeId } from "../../../base/ids.ts";
import type { JsonObject } from "../../../base/json.ts";
import { devinMethods, type SessionReader } from "../process/session-router.ts";
import type { SessionOffer } from "../wire/session-offer.ts";
import type { RunningPrompt } from "./running-prompt.ts";
import type { SessionTools } from "./session-tools.ts";

/** A session that a process has open. */
export class OpenSession implements SessionReader {
  readonly id: string;
  readonly options: SessionOffer;
  /** The client's tools, where the agent has them as its own. */
  readonly tools: SessionTools | undefined;
  /** How many lines of the agent were read, with the one that is handled; undefined for an agent without a host. */
  readonly #read: () => number | undefined;
  /** The number of user messages in it, which is the place of the next one. */
  userMessages = 0;
  /** The instructions that this process last gave the session, as `rulesOf` names them. */
  told: string | undefined;
  running: RunningPrompt | undefined;
  /** The last prompt that this process sent in it, running or not. An agent may write more of its answer after its end. */
  last: RunningPrompt | undefined;
  /** The request of `last`, and the number of the agent's lines before it. */
  prompt: { readonly id: number; readonly from: number } | undefined;
  /** A turn has it. */
  isHeld = false;
  /** A turn left it to the next gateway. */
  isLeft = false;
  /** The number of its own folder, where it has one. */
  folder: number | undefined;

  constructor(id: string, options: SessionOffer, read: () => number | undefined, tools?: SessionTools) {
    this.id = id;
    this.options = options;
    this.#read = read;
    this.tools = tools;
  }

  /** Whether it only waits for a next turn of its conversation. */
  get isIdle(): boolean {
    return this.running === undefined && !this.isHeld && !this.isLeft;
  }

  update(update: JsonObject): void {
    this.#reading()?.update(update);
  }

  vendor(method: string, params: JsonObject): void {
    this.#reading()?.told(method, params);
  }

  permission(toolCall: JsonObject): boolean {
    return this.running?.permission(toolCall) === true;
  }

  ask(question: string): void {
    this.running?.ask(question);
  }

  /** The end of a turn is stored: where it ended with calls, the next one begins after them. */
  settle(): void {
    const from = this.tools?.settle();
    if (from !== undefined) this.prompt = this.prompt && { ...this.prompt, from };
  }

  /** The prompt that an update belongs to: none for a line that is read again and is older than the prompt. */
  #reading(): RunningPrompt | undefined {
    return (this.#read() ?? 1) > (this.prompt?.from ?? 0) ? this.last : undefined;
  }
}

/** The updates that an agent sends of a session while it loads it, in order. */
export class SessionReplay implements SessionReader {
  readonly updates: JsonObject[] = [];

  update(update: JsonObject): void {
    this.updates.push(update);
  }

  vendor(method: string, params: JsonObject): void {
    if (method === devinMethods.stopped) this.updates.push({ ...params, sessionUpdate: "agent_stopped" });
  }

  permission(): boolean {
    return false;
  }

  ask(): void {}
}

/** The id under which the rest of Millrace knows a session of an agent: `acp:<agent>:<session id>`. */
export function cascadeIdOf(agent: string, sessionId: string): CascadeId {
  return `acp:${agent}:${sessionId}` as CascadeId; // the one place that makes them
}

/** The session's id; undefined for an id of another agent or of no agent. */
export function sessionIdOf(agent: string, cascadeId: CascadeId | undefined): string | undefined {
  const prefix = `acp:${agent}:`;
  return cascadeId?.startsWith(prefix) === true && cascadeId.length > prefix.length
    ? cascadeId.slice(prefix.length)
    : undefined;
}
