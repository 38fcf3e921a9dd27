import { isObject, type JsonObject } from "../../../base/json.ts";
import type { RunningPrompt } from "../session/running-prompt.ts";
import type { SessionOffer } from "../session/session-options.ts";
import type { SessionTools } from "../session/session-tools.ts";
import type { PeerHandlers } from "../wire/rpc-peer.ts";

/** A session that this process has open. */
export interface OpenSession {
  readonly id: string;
  readonly options: SessionOffer;
  /** The number of user messages in it, which is the place of the next one. */
  userMessages: number;
  /** The instructions that this process last gave the session, as `rulesOf` names them. */
  told: string | undefined;
  running: RunningPrompt | undefined;
  /** The last prompt that this process sent in it, running or not. An agent may write more of its answer after its end. */
  last: RunningPrompt | undefined;
  /** The request of `last`, and the number of the agent's lines before it. */
  prompt: { readonly id: number; readonly from: number } | undefined;
  /** The calls that the client has from the turn before, whose prompt waits for their results. */
  given: readonly string[];
  /** Where the agent's lines stood when the turn's answer ended with calls; for its end, once that is stored. */
  parkedAt: number | undefined;
  /** A turn has it. */
  isHeld: boolean;
  /** A turn left it to the next gateway. */
  isLeft: boolean;
  /** The client's tools, where the agent has them as its own. */
  readonly tools: SessionTools | undefined;
  /** The number of its own folder, where it has one. */
  folder: number | undefined;
}

export function openSession(id: string, options: SessionOffer, tools?: SessionTools): OpenSession {
  const nothing = { told: undefined, running: undefined, last: undefined, prompt: undefined, parkedAt: undefined };
  return {
    id,
    options,
    userMessages: 0,
    given: [],
    ...nothing,
    isHeld: false,
    isLeft: false,
    tools,
    folder: undefined,
  };
}

const stoppedMethod = "_cognition.ai/agent_stopped";
const vendorMethods: ReadonlySet<string> = new Set([
  stoppedMethod,
  "_cognition.ai/billingInformation",
  "_cognition.ai/connection_retry",
]);

/** Finds the session of each message, and answers the agent's requests to its client. */
export class SessionRouter implements PeerHandlers {
  readonly sessions = new Map<string, OpenSession>();
  readonly replays = new Map<string, JsonObject[]>();
  /** How many permissions were given. */
  granted = 0;
  readonly #read: () => number | undefined;

  /** `read`: how many lines of the agent were read, with the one that is handled; undefined for an agent without a host. */
  constructor(read: () => number | undefined) {
    this.#read = read;
  }

  onNotification(method: string, params: JsonObject): void {
    const { sessionId, update } = params;
    if (typeof sessionId !== "string") return;
    const replay = this.replays.get(sessionId);
    const prompt = this.#promptIn(sessionId);
    if (method === "session/update" && isObject(update)) {
      if (replay !== undefined) replay.push(update);
      else prompt?.update(update);
    } else if (replay === undefined && vendorMethods.has(method)) {
      prompt?.told(method, params);
    } else if (method === stoppedMethod) replay?.push({ ...params, sessionUpdate: "agent_stopped" });
  }

  onRequest(method: string, params: JsonObject): object | undefined {
    if (method === "session/request_permission") return this.#decide(params);
    if (method === "_cognition.ai/request_diagnostics") return {};
    if (method === "elicitation/create" || method === "_session/elicitation") return this.#askUser(params);
    return undefined;
  }

  /** Set by the process. */
  onQuestion: (text: string) => void = () => {};

  /** The prompt that an update belongs to: none for a line that is read again and is older than the prompt. */
  #promptIn(sessionId: string): RunningPrompt | undefined {
    const session = this.sessions.get(sessionId);
    return (this.#read() ?? 1) > (session?.prompt?.from ?? 0) ? session?.last : undefined;
  }

  /** The agent's question to its user: the client is told the question, and the agent that nobody answers. */
  #askUser({ sessionId, message }: JsonObject): object {
    const running = typeof sessionId === "string" ? this.sessions.get(sessionId)?.running : undefined;
    running?.ask(typeof message === "string" ? message : "");
    return { action: "cancel" };
  }

  /** A call of the client's tools is allowed once, everything else is refused. */
  #decide({ sessionId, toolCall, options }: JsonObject): object {
    const running = typeof sessionId === "string" ? this.sessions.get(sessionId)?.running : undefined;
    const isOurs = isObject(toolCall) && running?.permission(toolCall) === true;
    if (isOurs) this.granted++;
    const entries: readonly unknown[] = Array.isArray(options) ? options : [];
    const wanted = isOurs ? "allow_once" : "reject_once";
    const choice = entries.find((option) => isObject(option) && option["kind"] === wanted);
    if (!isObject(choice)) return { outcome: { outcome: "cancelled" } };
    return { outcome: { outcome: "selected", optionId: choice["optionId"] } };
  }
}
