import { deadline, orAborted } from "../../../base/async.ts";
import type { Clock } from "../../../base/clock.ts";
import { isObject, type JsonObject } from "../../../base/json.ts";
import { type Abilities, readAbilities } from "../abilities.ts";
import { answered, type PromptEnd, RunningPrompt } from "../running-prompt.ts";
import { readSessionOptions, type SessionOffer } from "../session/session-options.ts";
import type { AgentChild } from "./agent-child.ts";
import { connectPeer } from "./connect-peer.ts";
import { ProcessGone, type Reply, RpcError, type RpcPeer } from "./rpc-peer.ts";

/** A session that this process has open. */
export interface OpenSession {
  readonly id: string;
  readonly options: SessionOffer;
  /** The number of user messages in it, which is the place of the next one. */
  userMessages: number;
  /** The instructions that this process last gave the session. */
  told: string | undefined;
  running: RunningPrompt | undefined;
  /** The last prompt that this process sent in it, running or not. */
  last: RunningPrompt | undefined;
}

function openSession(id: string, options: SessionOffer): OpenSession {
  return { id, options, userMessages: 0, told: undefined, running: undefined, last: undefined };
}

const startMs = 60_000;
const sessionMs = 60_000;
const optionMs = 15_000;

/** One process of an agent, past its `initialize`: opens sessions, sends prompts, and passes each update to its session. */
export class AgentProcess {
  readonly child: AgentChild;
  readonly startupMs: number;
  readonly abilities: Abilities;
  readonly #peer: RpcPeer;
  readonly #router: SessionRouter;
  readonly #cwd: string;

  private constructor(parts: {
    readonly child: AgentChild;
    readonly peer: RpcPeer;
    readonly router: SessionRouter;
    readonly cwd: string;
    readonly startupMs: number;
    readonly abilities: Abilities;
  }) {
    this.child = parts.child;
    this.startupMs = parts.startupMs;
    this.abilities = parts.abilities;
    this.#peer = parts.peer;
    this.#router = parts.router;
    this.#cwd = parts.cwd;
  }

  /**
   * Greets a process that was just started. Tries each client name in turn while the agent refuses the one before. Throws
   * `RpcError`, `ProcessGone`, a `TimeoutError` after 60 s, or the signal's reason.
   */
  static async greet(
    child: AgentChild,
    { names, cwd, clock }: { readonly names: readonly string[]; readonly cwd: string; readonly clock: Clock },
    signal: AbortSignal,
  ): Promise<AgentProcess> {
    const begunMs = clock.monotonic();
    const router = new SessionRouter();
    const peer = connectPeer(child, router);
    const limited = deadline(signal, startMs);
    const reply = await initialize(peer, names, limited);
    const startupMs = clock.monotonic() - begunMs;
    return new AgentProcess({ child, peer, router, cwd, startupMs, abilities: readAbilities(reply) });
  }

  get sessions(): ReadonlyMap<string, OpenSession> {
    return this.#router.sessions;
  }

  get runningTurns(): number {
    return [...this.sessions.values()].filter(({ running }) => running !== undefined).length;
  }

  /** If an abort leaves a session behind, it is discarded as soon as its id is known. */
  async newSession(signal: AbortSignal): Promise<OpenSession> {
    const open = this.#newSession();
    try {
      return await orAborted(open, signal);
    } catch (error) {
      if (signal.aborted) open.then(({ id }) => this.discard(id, AbortSignal.timeout(optionMs))).catch(() => {});
      throw error;
    }
  }

  /** Opens a stored session; `replay` gets the updates that the agent sends before it answers, in order. */
  async loadSession(
    id: string,
    signal: AbortSignal,
  ): Promise<{ readonly session: OpenSession; readonly replay: readonly JsonObject[] }> {
    const replay: JsonObject[] = [];
    this.#router.replays.set(id, replay);
    try {
      const params = { sessionId: id, cwd: this.#cwd, mcpServers: [] };
      const reply = await this.#peer.request("session/load", params, deadline(signal, sessionMs));
      const session = openSession(id, readSessionOptions(reply));
      this.#router.sessions.set(id, session);
      return { session, replay };
    } finally {
      this.#router.replays.delete(id);
    }
  }

  async setOption(sessionId: string, configId: string, value: string, signal: AbortSignal): Promise<void> {
    const params = { sessionId, configId, value };
    await this.#peer.request("session/set_config_option", params, deadline(signal, optionMs));
  }

  async setMode(sessionId: string, modeId: string, signal: AbortSignal): Promise<void> {
    await this.#peer.request("session/set_mode", { sessionId, modeId }, deadline(signal, optionMs));
  }

  /** Sends the one prompt of a turn. */
  prompt(session: OpenSession, blocks: readonly object[]): RunningPrompt {
    const running = new RunningPrompt();
    session.running = running;
    session.last = running;
    session.userMessages++;
    this.#peer.ask("session/prompt", { sessionId: session.id, prompt: blocks }, (reply) => {
      if (session.running === running) session.running = undefined;
      running.finish(endOf(reply));
      this.onIdle();
    });
    return running;
  }

  /** Called when a prompt has ended, whether or not its events were read. Set by the pool. */
  onIdle: () => void = () => {};

  cancel(sessionId: string): void {
    this.#peer.notify("session/cancel", { sessionId });
  }

  /** Deletes the session if the agent can, else closes it if the agent can. */
  async discard(sessionId: string, signal: AbortSignal): Promise<void> {
    const { canDelete, canClose } = this.abilities;
    try {
      if (canDelete) await this.#peer.request("session/delete", { sessionId }, signal);
      else if (canClose) await this.#peer.request("session/close", { sessionId }, signal);
    } finally {
      this.#router.sessions.delete(sessionId);
    }
  }

  async #newSession(): Promise<OpenSession> {
    const limit = AbortSignal.timeout(sessionMs);
    const reply = await this.#peer.request("session/new", { cwd: this.#cwd, mcpServers: [] }, limit);
    const options = readSessionOptions(reply);
    const { sessionId: id } = options;
    if (id === undefined) throw new TypeError("session/new gave no session id");
    const session = openSession(id, options);
    this.#router.sessions.set(id, session);
    return session;
  }
}

async function initialize(peer: RpcPeer, names: readonly string[], signal: AbortSignal): Promise<unknown> {
  for (const [index, name] of names.entries()) {
    const clientInfo = { name, title: "Millrace", version: "1" };
    try {
      return await peer.request("initialize", { protocolVersion: 1, clientCapabilities: {}, clientInfo }, signal);
    } catch (error) {
      if (!(error instanceof RpcError) || index === names.length - 1) throw error;
    }
  }
  throw new TypeError("no client name to introduce Millrace by");
}

function endOf(reply: Reply): PromptEnd {
  if (!("error" in reply)) return answered(isObject(reply.result) ? reply.result : {});
  const { error } = reply;
  return error instanceof ProcessGone ? { type: "died", how: error.message } : { type: "refused", error };
}

/** Finds the session of each message, and refuses the agent's requests to its client. */
class SessionRouter {
  readonly sessions = new Map<string, OpenSession>();
  readonly replays = new Map<string, JsonObject[]>();

  onNotification(method: string, params: JsonObject): void {
    const { sessionId, update } = params;
    if (typeof sessionId !== "string") return;
    const replay = this.replays.get(sessionId);
    const running = this.sessions.get(sessionId)?.running;
    if (method === "session/update" && isObject(update)) {
      if (replay !== undefined) replay.push(update);
      else running?.update(update);
    } else if (method === "_cognition.ai/agent_stopped") {
      if (replay !== undefined) replay.push({ ...params, sessionUpdate: "agent_stopped" });
      else running?.stopped(params);
    }
  }

  onRequest(method: string, params: JsonObject): object | undefined {
    if (method === "session/request_permission") return this.#refuse(params);
    if (method === "_cognition.ai/request_diagnostics") return {};
    return undefined;
  }

  #refuse({ sessionId, toolCall, options }: JsonObject): object {
    const running = typeof sessionId === "string" ? this.sessions.get(sessionId)?.running : undefined;
    if (isObject(toolCall)) running?.permission(toolCall);
    const entries: readonly unknown[] = Array.isArray(options) ? options : [];
    const reject = entries.find((option) => isObject(option) && option["kind"] === "reject_once");
    if (!isObject(reject)) return { outcome: { outcome: "cancelled" } };
    return { outcome: { outcome: "selected", optionId: reject["optionId"] } };
  }
}
