import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { bestEffort, deadline, orAborted } from "../../../base/async.ts";
import { isObject, type JsonObject, writeJson } from "../../../base/json.ts";
import type { ToolSpec } from "../../backend.ts";
import type { LinesLost } from "../host/wire.ts";
import type { OwnSettings } from "../known/own-settings.ts";
import { serverName } from "../known/tool-names.ts";
import type { LeftProcess } from "../process/agent-starter.ts";
import { type Connection, takeOver } from "../process/connection.ts";
import { askedInText } from "../process/errors.ts";
import type { RelayHub } from "../relay/relay-hub.ts";
import { type Abilities, readAbilities } from "../wire/abilities.ts";
import type { AgentChild } from "../wire/agent-child.ts";
import { type PipePeer, ProcessLoss, type Reply } from "../wire/rpc-peer.ts";
import { readSessionOptions, type SessionOffer } from "../wire/session-offer.ts";
import { OpenSession, SessionReplay } from "./open-session.ts";
import { answered, type PromptEnd, RunningPrompt } from "./running-prompt.ts";
import { SessionTools } from "./session-tools.ts";

const sessionMs = 60_000;
const optionMs = 15_000;

/** One process of an agent, past its `initialize`: opens sessions, sends prompts, and passes each update to its session. */
export class AgentProcess {
  readonly child: AgentChild;
  /** From its start to its answer to `initialize`; unknown for a process that an earlier gateway started. */
  readonly startupMs: number | undefined;
  readonly abilities: Abilities;
  /** The settings that it was started with. */
  readonly own: OwnSettings;
  readonly #connection: Connection;
  readonly #peer: PipePeer;
  readonly #hub: RelayHub;
  readonly #sessions = new Map<string, OpenSession>();
  /** Of the sessions that the agent loads now. */
  readonly #replays = new Map<string, SessionReplay>();
  /** Sessions that the agent is opening and whose callers did not wait: the next caller that wants the same tools gets one. */
  readonly #late = new Map<string, Promise<OpenSession>>();
  /** The numbers of the folders that sessions have for themselves. A free one is used again: the agent keeps what it has for each folder. */
  readonly #folders = new Set<number>();
  /** Requests of `session/load` without a reply, by session. */
  readonly #loads = new Map<string, { readonly id: number; readonly done: Promise<void> }>();
  /** Sessions of whose prompts the host gave up lines. */
  readonly #cut = new Map<string, LinesLost>();

  constructor(connection: Connection, hub: RelayHub) {
    const { child, own, startupMs, initialized, peer, router } = connection;
    this.child = child;
    this.own = own;
    this.startupMs = startupMs;
    this.abilities = readAbilities(initialized);
    this.#connection = connection;
    this.#peer = peer;
    this.#hub = hub;
    router.readerOf = (id) => this.#replays.get(id) ?? this.#sessions.get(id);
    router.onQuestion = (text) => this.#giveUp(text);
    this.note();
  }

  /**
   * A process that an earlier gateway left in its host: its sessions are open, and its prompts run or have ended. Those that were kept
   * for a next turn are closed: their gateway alone knew what they hold.
   */
  static adopt({ child, start, kept, lost = "too_many" }: LeftProcess, hub: RelayHub): AgentProcess {
    const process = new AgentProcess(takeOver(child, start, kept.initialized), hub);
    const unwanted = kept.sessions.flatMap(({ id, idle }) => (idle === true ? [id] : []));
    for (const { id, userMessages, told, prompt, folder, tools, idle } of kept.sessions) {
      if (folder !== undefined) process.#folders.add(folder);
      if (prompt !== undefined && prompt.from < (child.host?.read ?? 0)) process.#cut.set(id, lost);
      const session = process.#opened(id, readSessionOptions({}), tools && new SessionTools(hub.restore(tools), tools));
      Object.assign(session, { userMessages, told, folder, isLeft: idle !== true });
      process.#sessions.set(id, session);
      if (prompt === undefined || process.#cut.has(id)) continue;
      session.prompt = prompt;
      process.#peer.expect(prompt.id, process.#run(session));
    }
    for (const { sessionId, id } of kept.loads) {
      const replied = new Promise<void>((resolve) => process.#peer.expect(id, () => resolve()));
      process.#track(sessionId, id, replied);
    }
    process.note();
    for (const id of unwanted) void bestEffort(process.discard(id, AbortSignal.timeout(sessionMs)));
    return process;
  }

  /** Why the host gave up lines of this session's prompt, so that nobody knows all of its answer; undefined where it has them. */
  lostIn(sessionId: string): LinesLost | undefined {
    return this.#cut.get(sessionId);
  }

  /** It has to make room for a new process once nothing runs in it. */
  isStale = false;

  get sessions(): ReadonlyMap<string, OpenSession> {
    return this.#sessions;
  }

  /** How many calls of the client's tools the agent asked permission for. */
  get permissions(): number {
    return this.#connection.router.granted;
  }

  get runningTurns(): number {
    return [...this.sessions.values()].filter(({ running }) => running !== undefined).length;
  }

  /**
   * A new session, with these tools as the agent's own if there are any. If an abort leaves a session behind, the next call for the same
   * tools gets it: a slow agent then needs no longer for each try.
   */
  async newSession(signal: AbortSignal, offered?: readonly ToolSpec[]): Promise<OpenSession> {
    const key = offered === undefined ? "" : writeJson(offered);
    const open = this.#late.get(key) ?? this.#newSession(offered);
    this.#late.delete(key);
    try {
      return await orAborted(open, signal);
    } catch (error) {
      if (signal.aborted) {
        this.#discardLate(this.#late.get(key));
        this.#late.set(key, open);
        open.catch(() => {
          if (this.#late.get(key) === open) this.#late.delete(key);
        });
      }
      throw error;
    }
  }

  #discardLate(open: Promise<OpenSession> | undefined): void {
    void bestEffort((async () => open && this.discard((await open).id, AbortSignal.timeout(sessionMs)))());
  }

  /** Opens a stored session; `replay` gets the updates that the agent sends before it answers, in order. */
  async loadSession(
    id: string,
    signal: AbortSignal,
  ): Promise<{ readonly session: OpenSession; readonly replay: readonly JsonObject[] }> {
    const limit = deadline(signal, sessionMs);
    await orAborted(this.#loads.get(id)?.done ?? Promise.resolve(), limit); // its replay is not this one's
    const replay = new SessionReplay();
    this.#replays.set(id, replay);
    try {
      const reply = await orAborted(this.#load(id), limit);
      const session = this.#opened(id, readSessionOptions(reply));
      this.#open(session);
      return { session, replay: replay.updates };
    } finally {
      this.#replays.delete(id);
    }
  }

  /** Resolves with the offer of the reply, where it holds one. */
  async setOption(sessionId: string, configId: string, value: string, signal: AbortSignal): Promise<SessionOffer> {
    const params = { sessionId, configId, value };
    const reply = await this.#peer.request("session/set_config_option", params, deadline(signal, optionMs));
    return readSessionOptions(reply);
  }

  async setMode(sessionId: string, modeId: string, signal: AbortSignal): Promise<void> {
    await this.#peer.request("session/set_mode", { sessionId, modeId }, deadline(signal, optionMs));
  }

  async setTitle(sessionId: string, title: string, signal: AbortSignal): Promise<void> {
    await this.#peer.request("session/set_title", { sessionId, title }, deadline(signal, optionMs));
  }

  /** Sends the one prompt of a turn. */
  prompt(session: OpenSession, blocks: readonly object[]): RunningPrompt {
    const onReply = this.#run(session);
    session.prompt = { id: this.#peer.nextId, from: this.child.host?.read ?? 0 };
    session.userMessages++;
    this.note();
    this.#peer.ask("session/prompt", { sessionId: session.id, prompt: blocks }, onReply);
    return onReply.running;
  }

  /** Leaves a note of where the process stands for the next gateway. Called after each change of a session. */
  note(): void {
    const { host } = this.child;
    if (host === undefined) return;
    const parts: Record<string, string> = {};
    const sessions = [...this.#sessions.values()].map((session) => {
      const { id, userMessages, told, folder, tools, isIdle } = session;
      const prompt = isIdle ? undefined : session.prompt;
      if (tools !== undefined) parts[id] = tools.offered;
      return { id, userMessages, told, prompt, folder, idle: isIdle, tools: tools?.kept };
    });
    const loads = [...this.#loads].map(([sessionId, { id }]) => ({ sessionId, id }));
    const { launch, settings, initialized } = this.#connection;
    const kept = { launch, settings, initialized, sessions, loads };
    const running = [...this.sessions.values()].flatMap((session) => (session.running && session.prompt?.id) ?? []);
    const keep = Math.min(host.read, ...sessions.map(({ prompt }) => prompt?.from ?? host.read));
    host.note({ state: writeJson(kept), parts, keep, running });
  }

  /** Called when a prompt has ended, whether or not its events were read. Set by the pool. */
  onIdle: () => void = () => {};

  /** Whether the agent stopped in the middle of a line. */
  get hasHalfLine(): boolean {
    return this.#peer.hasHalfLine;
  }

  cancel(sessionId: string): void {
    this.#peer.notify("session/cancel", { sessionId });
  }

  /** Closes sessions without a prompt, the oldest first, until `most` are open: they stay stored, and are loaded when they go on. */
  async closeIdle(most: number, signal: AbortSignal): Promise<void> {
    if (!this.abilities.canClose || !this.abilities.canLoad) return;
    const idle = [...this.#sessions.values()].filter(({ isIdle }) => isIdle);
    for (const { id } of idle.slice(0, Math.max(0, idle.length - most))) {
      this.#forget(id);
      await this.#peer.request("session/close", { sessionId: id }, signal);
    }
  }

  /** Gives up a prompt that the agent does not stop: the process ends once no other turn runs in it. */
  abandon(sessionId: string): void {
    const session = this.#sessions.get(sessionId);
    session?.running?.finish({ type: "silent", inLine: false });
    if (session !== undefined) session.running = undefined;
    this.isStale = true;
  }

  /** The agent asks in plain text where only messages belong, and takes what it reads next for the answer: no turn can go on in it. */
  #giveUp(question: string): void {
    this.isStale = true;
    for (const session of this.sessions.values()) {
      session.running?.finish({ type: "refused", error: askedInText(question) });
      session.running = undefined;
    }
    this.onIdle();
  }

  /** Deletes the session if the agent can, else closes it if the agent can. */
  async discard(sessionId: string, signal: AbortSignal): Promise<void> {
    const { canDelete, canClose } = this.abilities;
    try {
      if (canDelete) await this.#peer.request("session/delete", { sessionId }, signal);
      else if (canClose) await this.#peer.request("session/close", { sessionId }, signal);
    } finally {
      this.sessions.get(sessionId)?.tools?.close();
      this.#forget(sessionId);
    }
  }

  /** Whether a turn goes on here that the next gateway takes up, or a prompt waits for results. */
  get isAwaited(): boolean {
    const isAwaited = ({ isLeft, running }: OpenSession) => isLeft || running !== undefined;
    return this.child.host !== undefined && [...this.sessions.values()].some(isAwaited);
  }

  get #place(): object {
    const { meta } = this.own;
    return { cwd: this.#connection.cwd, mcpServers: [], ...(meta === undefined ? {} : { _meta: meta }) };
  }

  async #newSession(offered: readonly ToolSpec[] | undefined): Promise<OpenSession> {
    const { tools, servers } = offered === undefined ? noTools : await this.#openTools(offered);
    const folder = tools !== undefined && this.own.sharesServers ? this.#takeFolder() : undefined;
    try {
      const cwd = folder === undefined ? this.#connection.cwd : await this.#makeFolder(folder);
      const limit = AbortSignal.timeout(sessionMs);
      const place = { ...this.#place, cwd, mcpServers: servers };
      const reply = await this.#peer.request("session/new", place, limit).catch((error: unknown) => {
        this.isStale ||= limit.aborted; // a process that opens no session is of no use
        throw error;
      });
      const options = readSessionOptions(reply);
      const { sessionId: id } = options;
      if (id === undefined) throw new TypeError("session/new gave no session id");
      const session = this.#opened(id, options, tools);
      session.folder = folder;
      this.#open(session);
      return session;
    } catch (error) {
      tools?.close();
      this.#giveBack(folder);
      throw error;
    }
  }

  /** Tools for a session that is about to be opened, and the server to open it with. */
  async #openTools(offered: readonly ToolSpec[]): Promise<{ tools: SessionTools; servers: readonly object[] }> {
    const { door, server } = await this.#hub.open().catch((error: unknown) => {
      throw new NoDoor(error);
    });
    const tools = new SessionTools(door);
    tools.offer(offered);
    void this.child.exited.then(() => tools.close());
    return { tools, servers: [{ name: serverName, ...server }] };
  }

  #opened(id: string, options: SessionOffer, tools?: SessionTools): OpenSession {
    return new OpenSession(id, options, () => this.child.host?.read, tools);
  }

  #open(session: OpenSession): void {
    this.#sessions.set(session.id, session);
    this.note();
  }

  #takeFolder(): number {
    let folder = 1;
    while (this.#folders.has(folder)) folder++;
    this.#folders.add(folder);
    return folder;
  }

  async #makeFolder(folder: number): Promise<string> {
    const path = join(this.#connection.cwd, String(folder));
    try {
      await mkdir(path, { recursive: true, mode: 0o700 });
      return path;
    } catch (error) {
      throw new NoDoor(error);
    }
  }

  #giveBack(folder: number | undefined): void {
    if (folder !== undefined) this.#folders.delete(folder);
  }

  #forget(sessionId: string): void {
    this.#giveBack(this.sessions.get(sessionId)?.folder);
    this.#sessions.delete(sessionId);
    this.note();
  }

  #load(sessionId: string): Promise<unknown> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#track(sessionId, this.#peer.nextId, promise);
    this.note();
    return this.#peer.call("session/load", { sessionId, ...this.#place }).finally(resolve);
  }

  #track(sessionId: string, id: number, replied: Promise<void>): void {
    const settle = async () => {
      await replied;
      this.#loads.delete(sessionId);
      this.note();
    };
    this.#loads.set(sessionId, { id, done: settle() });
  }

  /** A prompt that runs in the session from now on, and how its reply ends it. */
  #run(session: OpenSession): ((reply: Reply) => void) & { readonly running: RunningPrompt } {
    const running = new RunningPrompt(session.tools);
    session.running = running;
    session.last = running;
    const onReply = (reply: Reply) => {
      if (session.running === running) session.running = undefined;
      running.finish(endOf(reply));
      this.note();
      this.onIdle();
    };
    return Object.assign(onReply, { running });
  }
}

const noTools = { tools: undefined, servers: [] };

/** A session with tools cannot be prepared here: the files for that cannot be made. Nothing was asked. */
export class NoDoor extends Error {
  constructor(cause: unknown) {
    super("a session with tools cannot be prepared", { cause });
  }
}

function endOf(reply: Reply): PromptEnd {
  if (!("error" in reply)) return answered(isObject(reply.result) ? reply.result : {});
  const { error } = reply;
  return error instanceof ProcessLoss ? { type: "died", how: error.message } : { type: "refused", error };
}
