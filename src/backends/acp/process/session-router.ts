import { isObject, type JsonObject } from "../../../base/json.ts";
import type { PeerHandlers } from "../wire/rpc-peer.ts";

/** What reads the messages of one session. */
export interface SessionReader {
  update(update: JsonObject): void;
  /** A notification of Devin's own. */
  vendor(method: string, params: JsonObject): void;
  /** A request for permission: whether it is given. */
  permission(toolCall: JsonObject): boolean;
  /** The agent's question to its user. */
  ask(question: string): void;
}

/** Devin's own notifications: why a prompt has stopped, live or replayed; about the plan; that it tries to reach the model again. */
export const devinMethods = {
  stopped: "_cognition.ai/agent_stopped",
  billing: "_cognition.ai/billingInformation",
  retry: "_cognition.ai/connection_retry",
} as const;
const vendorMethods: ReadonlySet<string> = new Set(Object.values(devinMethods));

/** Finds the session of each message, and answers the agent's requests to its client. */
export class SessionRouter implements PeerHandlers {
  /** Set by the owner of the sessions. */
  readerOf: (sessionId: string) => SessionReader | undefined = () => undefined;

  onNotification(method: string, params: JsonObject): void {
    const { update } = params;
    if (method === "session/update" && isObject(update)) this.#reader(params)?.update(update);
    else if (vendorMethods.has(method)) this.#reader(params)?.vendor(method, params);
  }

  onRequest(method: string, params: JsonObject): object | undefined {
    if (method === "session/request_permission") return this.#decide(params);
    if (method === "_cognition.ai/request_diagnostics") return {};
    if (method === "elicitation/create" || method === "_session/elicitation") return this.#askUser(params);
    return undefined;
  }

  #reader({ sessionId }: JsonObject): SessionReader | undefined {
    return typeof sessionId === "string" ? this.readerOf(sessionId) : undefined;
  }

  /** The agent's question to its user: the client is told the question, and the agent that nobody answers. */
  #askUser(params: JsonObject): object {
    const { message } = params;
    this.#reader(params)?.ask(typeof message === "string" ? message : "");
    return { action: "cancel" };
  }

  /** A call of the client's tools is allowed once, everything else is refused. */
  #decide(params: JsonObject): object {
    const { toolCall, options } = params;
    const isOurs = isObject(toolCall) && this.#reader(params)?.permission(toolCall) === true;
    const entries: readonly unknown[] = Array.isArray(options) ? options : [];
    const wanted = isOurs ? "allow_once" : "reject_once";
    const choice = entries.find((option) => isObject(option) && option["kind"] === wanted);
    if (!isObject(choice)) return { outcome: { outcome: "cancelled" } };
    return { outcome: { outcome: "selected", optionId: choice["optionId"] } };
  }
}
