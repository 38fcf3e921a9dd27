import type { Clock } from "../../src/base/clock.ts";
import { Gate } from "../model/gate.ts";
import { type Access, checkClient, checkSignedIn } from "./access.ts";
import type { DeskLink } from "./desk/desk-link.ts";
import type { AgentSettings, CallTerms } from "./desk/desk-protocol.ts";
import { locked, noSession } from "./errors.ts";
import { invalidParams, type JsonRpc, JsonRpcError, methodNotFound, type RequestHandler } from "./json-rpc.ts";
import { agentModels } from "./models.ts";
import { readPrompt } from "./prompt.ts";
import { modesOf, newSession, newSessionId, optionsOf, type Session, setOption } from "./session.ts";
import type { SessionStore } from "./session-store.ts";

/** The parts of one agent process. */
interface AgentParts {
  readonly settings: AgentSettings;
  readonly desk: DeskLink;
  readonly rpc: JsonRpc;
  readonly clock: Clock;
  readonly pid: number;
  readonly newId: () => string;
  /** `default`, `summarizer` or `review`. */
  readonly agentType: string;
  /** Named by `--model` or `DEVIN_MODEL`. */
  readonly model: string | undefined;
  readonly openStore: () => Promise<SessionStore>;
  readonly access: Access;
  /** Kills the process once its output has gone out; never resolves. */
  readonly crash: () => Promise<never>;
}

const authMethod = "devin-browser";

type Params = Readonly<Record<string, unknown>>;
type Handler = (params: Params, terms: CallTerms) => Promise<RequestHandler>;

/** The `devin acp` server: ACP version 1 with the vendor's own additions. Source: docs/dev/wire/acp.md. */
export class DevinAgent {
  readonly #parts: AgentParts;
  /** The sessions that this process has opened or loaded. */
  readonly #sessions = new Map<string, Session>();
  readonly #gate = new Gate();
  readonly #methods: Readonly<Record<string, Handler>>;
  #store: Promise<SessionStore> | undefined;
  #clientName: unknown;

  constructor(parts: AgentParts) {
    this.#parts = parts;
    this.#methods = {
      initialize: (params, terms) => this.#initialize(params, terms),
      authenticate: (params) => this.#authenticate(params),
      "session/new": (params, terms) => this.#newSession(params, terms),
      "session/load": (params, terms) => this.#loadSession(params, terms),
      "session/list": (params) => this.#listSessions(params),
      "session/delete": (params) => this.#deleteSession(params),
      "session/prompt": (params, terms) => this.#prompt(params, terms),
      "session/cancel": (params) => this.#cancel(params),
      "session/set_mode": (params, terms) => this.#setMode(params, terms),
      "session/set_config_option": (params, terms) => this.#setConfigOption(params, terms),
      "session/set_model": () => new Promise(() => {}), // some builds never answer it
    };
  }

  /** Answers one request or takes one notification in. */
  async handle(method: string, params: unknown): Promise<RequestHandler> {
    const { desk, clock, crash } = this.#parts;
    const terms = await desk.call(method);
    const { fault } = terms;
    if (fault?.error !== undefined) throw new JsonRpcError(fault.error.code, fault.error.message, fault.error.data);
    if (fault?.delayMs !== undefined) await clock.sleep(fault.delayMs, new AbortController().signal);
    if (fault?.hang === true) await new Promise(() => {});
    if (fault?.crash === "before-store") await crash();
    const handler = this.#methods[method];
    if (handler === undefined) throw new JsonRpcError(methodNotFound, `Method not found: ${method}`);
    const handling = await handler(paramsOf(params), terms);
    if (fault?.crash === "before-reply") await crash();
    if (fault?.crash !== "after-reply") return handling;
    return {
      ...handling,
      afterReply: () => {
        handling.afterReply?.();
        void crash();
      },
    };
  }

  release(): void {
    this.#gate.release();
  }

  /** The client is gone: running turns end, and their text stays. */
  async close(): Promise<void> {
    for (const { running, mcp } of this.#sessions.values()) {
      running?.abort();
      for (const client of mcp) client.close();
    }
    const store = await this.#store;
    for (const { sessionId } of this.#sessions.values()) store?.end(sessionId, this.#parts.clock.now());
    store?.close();
  }

  async #initialize(params: Params, { options }: CallTerms): Promise<RequestHandler> {
    const client = paramsOf(params["clientInfo"]);
    this.#clientName = client["name"];
    const { desk, pid } = this.#parts;
    await desk.note("clients", { pid, client, capabilities: params["clientCapabilities"] });
    return {
      result: {
        protocolVersion: 1,
        agentInfo: { name: "affogato", title: "Devin Agent", version: options.version },
        agentCapabilities: {
          loadSession: true,
          promptCapabilities: { image: true, audio: false, embeddedContext: true },
          sessionCapabilities: { list: {}, ...(options.canDelete ? { delete: {} } : {}), additionalDirectories: {} },
        },
        authMethods: [{ id: authMethod, name: "Sign in to Devin" }],
      },
    };
  }

  async #authenticate(params: Params): Promise<RequestHandler> {
    if (params["methodId"] !== authMethod) throw new JsonRpcError(invalidParams, "Unknown authentication method");
    const { signedIn, hostMustAuthenticate } = this.#parts.access;
    if (signedIn() && !hostMustAuthenticate) return { result: {} };
    await this.#parts.desk.browserOpened();
    return await new Promise(() => {}); // it waits for a sign-in in the browser
  }

  async #newSession(params: Params, terms: CallTerms): Promise<RequestHandler> {
    const cwd = params["cwd"];
    if (typeof cwd !== "string") throw new JsonRpcError(invalidParams, "Invalid params: missing field `cwd`");
    if (!Array.isArray(params["mcpServers"])) {
      throw new JsonRpcError(invalidParams, "Invalid params: missing field `mcpServers`");
    }
    checkClient(terms.options, this.#clientName);
    checkSignedIn(this.#parts.access);
    const session = this.#openSession(newSessionId(), cwd, terms);
    const servers: readonly unknown[] = terms.options.stdioServers ? params["mcpServers"] : [];
    if (servers.length > 0) {
      const { McpClient } = await import("./mcp-client.ts");
      const opened = await Promise.all(servers.map((server) => McpClient.open(server, terms.options.mcpListsAgain)));
      session.mcp = opened.filter((client) => client !== undefined);
    }
    await this.#opened(session, "new");
    this.#update(session, {
      sessionUpdate: "available_commands_update",
      availableCommands: [{ name: "compact", description: "Compact the conversation" }],
    });
    const result = { sessionId: session.sessionId, ...this.#described(session, terms) };
    return { result, afterReply: () => void loadTurns() };
  }

  async #loadSession(params: Params, terms: CallTerms): Promise<RequestHandler> {
    const sessionId = String(params["sessionId"]);
    checkClient(terms.options, this.#clientName);
    checkSignedIn(this.#parts.access);
    const store = await this.#openedStore();
    if (!store.has(sessionId)) throw noSession(sessionId);
    if (store.lockedBy(sessionId) !== undefined) throw locked(sessionId);
    const session = this.#openSession(sessionId, String(params["cwd"]), terms);
    await this.#opened(session, "load");
    for (const { role, kind, body } of store.messages(sessionId)) {
      if (kind === "json") this.#update(session, paramsOf(JSON.parse(body)));
      else this.#update(session, { sessionUpdate: chunkOf[role], content: { type: "text", text: body } });
    }
    return { result: this.#described(session, terms), afterReply: () => void loadTurns() };
  }

  #openSession(sessionId: string, cwd: string, { options }: CallTerms): Session {
    const models = agentModels(options.free).map(({ id }) => id);
    const session = newSession(sessionId, cwd, models, this.#parts.model);
    this.#sessions.set(sessionId, session);
    return session;
  }

  #described(session: Session, { options }: CallTerms) {
    return { modes: modesOf(session), configOptions: optionsOf(session, options, this.#hasModelOption) };
  }

  get #hasModelOption(): boolean {
    return this.#parts.agentType === "default";
  }

  /** @throws RpcError where this process has no such session. */
  #session({ sessionId }: Params): Session {
    const session = this.#sessions.get(String(sessionId));
    if (session === undefined) throw noSession(String(sessionId));
    return session;
  }

  async #opened({ sessionId, cwd }: Session, how: "new" | "load"): Promise<void> {
    const { desk, pid } = this.#parts;
    await desk.note("sessions", { pid, sessionId, cwd, how });
  }

  async #listSessions(params: Params): Promise<RequestHandler> {
    const store = await this.#openedStore();
    const sessions = store
      .list()
      .filter(({ cwd }) => params["cwd"] === undefined || params["cwd"] === null || cwd === params["cwd"])
      .map(({ sessionId, cwd, title, updatedAtMs }) => ({
        sessionId,
        cwd,
        title,
        updatedAt: new Date(updatedAtMs).toISOString(),
      }));
    return { result: { sessions } };
  }

  async #deleteSession(params: Params): Promise<RequestHandler> {
    const sessionId = String(params["sessionId"]);
    const store = await this.#openedStore();
    const session = this.#sessions.get(sessionId);
    session?.running?.abort();
    for (const client of session?.mcp ?? []) client.close();
    this.#sessions.delete(sessionId);
    const wasThere = store.delete(sessionId);
    await this.#parts.desk.note("deletes", sessionId); // also where a killed process deleted it and could not tell
    if (!wasThere) throw noSession(sessionId);
    return { result: {} };
  }

  async #cancel(params: Params): Promise<RequestHandler> {
    const session = this.#sessions.get(String(params["sessionId"]));
    if (session === undefined) return { result: null };
    const { sessionId, running } = session;
    await this.#parts.desk.note("cancels", { sessionId, idle: running === undefined });
    if (running === undefined) this.#stopped(session, "cancelled");
    else running.abort();
    return { result: null };
  }

  async #setMode(params: Params, terms: CallTerms): Promise<RequestHandler> {
    this.#setOption(this.#session(params), "mode", params["modeId"], terms);
    return { result: {} };
  }

  #setOption(session: Session, id: unknown, value: unknown, { options }: CallTerms): void {
    const configOptions = optionsOf(session, options, this.#hasModelOption);
    if (!setOption(session, configOptions, id, value)) {
      throw new JsonRpcError(invalidParams, `Unknown config option: ${String(id)}=${String(value)}`);
    }
    if (id === "mode") this.#update(session, { sessionUpdate: "current_mode_update", currentModeId: value });
  }

  async #setConfigOption(params: Params, terms: CallTerms): Promise<RequestHandler> {
    const session = this.#session(params);
    this.#setOption(session, params["configId"], params["value"], terms);
    const { configOptions } = this.#described(session, terms);
    this.#update(session, { sessionUpdate: "config_option_update", configOptions });
    return { result: { configOptions } };
  }

  async #prompt(params: Params, terms: CallTerms): Promise<RequestHandler> {
    const session = this.#session(params);
    const { turn, fault } = terms;
    const incoming = readPrompt(params["prompt"]);
    if (incoming === undefined) throw new JsonRpcError(invalidParams, "Invalid params: missing field `prompt`");
    if (session.running !== undefined) throw new JsonRpcError(-32600, "A prompt is already running in this session");
    const running = new AbortController();
    session.running = running;
    try {
      if (incoming.whole.trimStart().startsWith("/")) return { result: { stopReason: "end_turn" } };
      const { runPrompt } = await loadTurns();
      const end = await runPrompt({
        session,
        incoming,
        terms: fault?.crash === undefined ? terms : { ...terms, turn: { ...turn, crashAt: fault.crash } },
        store: await this.#openedStore(),
        services: { ...this.#parts, gate: this.#gate, update: (update) => this.#update(session, update) },
        signal: running.signal,
      });
      this.#parts.rpc.notify("_cognition.ai/agent_stopped", { sessionId: session.sessionId, ...end.stopped });
      await this.#parts.desk.note("ended", { sessionId: session.sessionId, cause: end.stopped.cause });
      if (end.reply instanceof JsonRpcError) throw end.reply;
      if (end.crash === "before-reply") await this.#parts.crash();
      return {
        result: end.reply,
        ...(end.crash === "after-reply" ? { afterReply: () => void this.#parts.crash() } : {}),
      };
    } finally {
      session.running = undefined;
    }
  }

  #stopped(session: Session, cause: string): void {
    this.#parts.rpc.notify("_cognition.ai/agent_stopped", { sessionId: session.sessionId, cause });
  }

  #update(session: Session, update: object): void {
    this.#parts.rpc.notify("session/update", { sessionId: session.sessionId, update });
  }

  #openedStore(): Promise<SessionStore> {
    this.#store ??= this.#parts.openStore();
    return this.#store;
  }
}

const chunkOf = {
  user: "user_message_chunk",
  thought: "agent_thought_chunk",
  assistant: "agent_message_chunk",
  tool: "tool_call_update",
} as const;

/** The code for turns is loaded once a session exists, so that the first answer to `initialize` comes soon. */
function loadTurns() {
  return import("./run-prompt.ts");
}

function paramsOf(value: unknown): Params {
  return typeof value === "object" && value !== null ? (value as Params) : {}; // fields are checked where they are read
}
