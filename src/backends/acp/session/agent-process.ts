import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { bestEffort, deadline, notNeeded, orAborted, timeLimit } from "../../../base/async.ts";
import type { Clock } from "../../../base/clock.ts";
import { writeJson } from "../../../base/json.ts";
import type { ToolSpec } from "../../backend.ts";
import type { AcpStyle } from "../known/agent-spec.ts";
import { styleOf } from "../known/devin.ts";
import type { OwnSettings } from "../known/own-settings.ts";
import type { LeftProcess } from "../process/agent-starter.ts";
import { type Connection, takeOver } from "../process/connection.ts";
import { isUnknownSession } from "../process/errors.ts";
import type { RelayHub } from "../relay/relay-hub.ts";
import { type Abilities, readAbilities } from "../wire/abilities.ts";
import type { AgentChild } from "../wire/agent-child.ts";
import type { PipePeer } from "../wire/rpc-peer.ts";
import { readSessionOptions } from "../wire/session-offer.ts";
import type { NativeKnowledge } from "./native-knowledge.ts";
import { readReplay, SessionReplay } from "./replay.ts";
import { Session, type SessionProcess } from "./session.ts";
import { SessionTools } from "./session-tools.ts";

const sessionMs = 60_000;
/** How long a session that an earlier gateway left is kept for the turn that goes on in it; ms. */
const untakenMs = 10 * 60_000;
/** Agents with a child process for each session reach this with a few of them. */
const mostMemory = 1024 ** 3;
/** How often it is asked for at most, which reads the list of all processes of the machine; ms. */
const memoryEveryMs = 10_000;

/** What all processes of an agent share. */
interface Shared {
  readonly hub: RelayHub;
  readonly clock: Clock;
  readonly knowledge: NativeKnowledge;
}

/** One process of an agent, past its `initialize`: opens sessions, and passes each message to its session. */
export class AgentProcess implements SessionProcess {
  readonly child: AgentChild;
  /** From its start to its answer to `initialize`; unknown for a process that an earlier gateway started. */
  readonly startupMs: number | undefined;
  readonly abilities: Abilities;
  readonly own: OwnSettings;
  /** The key of its launch. */
  readonly launch: string;
  readonly peer: PipePeer;
  readonly clock: Clock;
  readonly knowledge: NativeKnowledge;
  readonly #connection: Connection;
  readonly #hub: RelayHub;
  readonly #sessions = new Map<string, Session>();
  /** Of the sessions that the agent loads now. */
  readonly #replays = new Map<string, SessionReplay>();
  /** Sessions that the agent is opening and whose callers did not wait: the next caller that wants the same tools gets one. */
  readonly #late = new Map<string, Promise<Session>>();
  /** The numbers of the folders that sessions have for themselves. A free one is used again: the agent keeps what it has for each folder. */
  readonly #folders = new Set<number>();
  /** Requests of `session/load` without a reply, by session. */
  readonly #loads = new Map<string, { readonly id: number; readonly done: Promise<void> }>();
  #measuredAtMs = Number.NEGATIVE_INFINITY;
  /** It has to make room for a new process once nothing runs in it. */
  isStale = false;
  /** Called when a prompt has ended, whether or not its events were read. Set by the pool. */
  onIdle: () => void = () => {};

  constructor(connection: Connection, { hub, clock, knowledge }: Shared) {
    const { child, own, launch, startupMs, initialized, peer, router } = connection;
    this.child = child;
    this.own = own;
    this.launch = launch;
    this.startupMs = startupMs;
    this.abilities = readAbilities(initialized);
    this.peer = peer;
    this.clock = clock;
    this.knowledge = knowledge;
    this.#connection = connection;
    this.#hub = hub;
    router.readerOf = (id) => this.#replays.get(id) ?? this.#sessions.get(id);
    void child.exited.then(() => this.sessions.forEach((session) => session.step({ type: "agent_died" })));
    this.note();
  }

  /**
   * A process that an earlier gateway left in its host: its sessions are open, and its prompts run or have ended. Those that were kept
   * for a next turn are closed: their gateway alone knew what they hold.
   */
  static adopt({ child, start, kept, lost = "too_many" }: LeftProcess, shared: Shared): AgentProcess {
    const process = new AgentProcess(takeOver(child, start, kept.initialized), shared);
    for (const note of kept.sessions) {
      const { id, folder, prompt, tools } = note;
      if (folder !== undefined) process.#folders.add(folder);
      const isCut = prompt !== undefined && prompt.from < (child.host?.read ?? 0);
      const parts = {
        tools: tools && new SessionTools(shared.hub.restore(tools), start.own.server, tools.offered),
        lost: isCut ? lost : undefined,
      };
      process.#sessions.set(id, Session.adopt(process, note, parts));
    }
    for (const { sessionId, id } of kept.loads) {
      const replied = new Promise<void>((resolve) => process.peer.expect(id, () => resolve()));
      process.#track(sessionId, id, replied);
    }
    process.note();
    for (const session of [...process.sessions.values()].filter(({ state }) => state.place === "idle")) {
      session.cancel(); // one that was being deleted may still work
      void session.expire();
    }
    void process.#endUntaken();
    return process;
  }

  /** A session that no turn takes ends after a while: the end of its turn was stored before the gateway was killed. */
  async #endUntaken(): Promise<void> {
    const over = new AbortController();
    void this.child.exited.then(() => over.abort(notNeeded));
    await bestEffort(this.clock.sleep(untakenMs, over.signal));
    if (over.signal.aborted) return;
    for (const session of this.sessions.values())
      if (session.state.place === "left" && !session.works) await session.expire();
  }

  get style(): AcpStyle {
    return styleOf(this.launch);
  }

  get sessions(): ReadonlyMap<string, Session> {
    return this.#sessions;
  }

  get runningTurns(): number {
    return [...this.sessions.values()].filter(({ works }) => works).length;
  }

  /**
   * A new session, with these tools as the agent's own if there are any. If an abort leaves a session behind, the next call for the same
   * tools gets it: a slow agent then needs no longer for each try.
   */
  async newSession(signal: AbortSignal, offered?: readonly ToolSpec[]): Promise<Session> {
    const key = offered === undefined ? "" : writeJson(offered);
    const open = this.#late.get(key) ?? this.#newSession(offered);
    this.#late.delete(key);
    try {
      return await orAborted(open, signal);
    } catch (error) {
      if (signal.aborted) {
        void bestEffort(this.#late.get(key)?.then((late) => late.expire()) ?? Promise.resolve());
        this.#late.set(key, open);
        open.catch(() => {
          if (this.#late.get(key) === open) this.#late.delete(key);
        });
      }
      throw error;
    }
  }

  /** Whether the client's tools are worth an offer to it. */
  get mayOffer(): boolean {
    return this.knowledge.mayOffer(this.abilities.program);
  }

  /**
   * A new session with these tools as the agent's own; undefined for an agent that does not take them. Whether it does shows before a prompt is
   * sent: an agent that takes their server asks it for them.
   */
  async offerTools(offered: readonly ToolSpec[], signal: AbortSignal): Promise<Session | undefined> {
    if (!this.mayOffer) return undefined;
    const session = await this.newSession(signal, offered).catch((error: unknown) => {
      if (error instanceof NoDoor) return undefined; // as in a home that cannot be written: the tools go in prose
      throw error;
    });
    if (session?.tools === undefined || (await session.tools.areListed(this.clock))) return session;
    this.knowledge.noteWithout(this.abilities.program);
    await session.expire();
    return undefined;
  }

  /** Opens a stored session, and reads the turn at this place in it, as `readReplay` has it. */
  async loadSession(
    id: string,
    { fromStep, before }: { readonly fromStep: number; readonly before: number },
    signal: AbortSignal,
  ): Promise<{ readonly session: Session; readonly replayed: ReturnType<typeof readReplay> }> {
    const limit = deadline(signal, sessionMs);
    await orAborted(this.#loads.get(id)?.done ?? Promise.resolve(), limit); // its replay is not this one's
    const replay = new SessionReplay();
    this.#replays.set(id, replay);
    try {
      const reply = await orAborted(this.#load(id), limit);
      const session = new Session(this);
      this.#sessions.set(id, session);
      session.open(id, readSessionOptions(reply));
      const replayed = readReplay(replay.updates, fromStep, before);
      session.userMessages = replayed.userMessages;
      return { session, replayed };
    } finally {
      this.#replays.delete(id);
    }
  }

  /** Leaves a note of where the process stands for the next gateway. */
  note(): void {
    const { host } = this.child;
    if (host === undefined) return;
    const all = [...this.sessions.values()];
    const parts = Object.fromEntries(
      all.flatMap(({ id, tools }) => (tools === undefined ? [] : [[id, tools.offered]])),
    );
    const sessions = all.map((session) => session.note);
    const loads = [...this.#loads].map(([sessionId, { id }]) => ({ sessionId, id }));
    const { launch, settings, initialized, own } = this.#connection;
    const kept = { launch, settings, server: own.server, initialized, sessions, loads };
    const running = all.flatMap(({ works, state }) => (works && state.request?.id) || []);
    const keep = Math.min(host.read, ...sessions.map(({ prompt }) => prompt?.from ?? host.read));
    host.note({ state: writeJson(kept), parts, keep, running });
  }

  /** A session is gone. */
  forget(session: Session): void {
    if (session.folder !== undefined) this.#folders.delete(session.folder);
    if (this.#sessions.get(session.id) === session) this.#sessions.delete(session.id);
    this.note();
  }

  /** Closes half of the idle sessions, the oldest first, where the agent and its children take too much memory. They stay stored. */
  async saveMemory(): Promise<void> {
    if (!this.abilities.canClose || !this.abilities.canLoad) return;
    const nowMs = this.clock.monotonic();
    const idle = [...this.sessions.values()].filter(({ state }) => state.place === "idle");
    if (idle.length < 2 || nowMs - this.#measuredAtMs < memoryEveryMs) return;
    this.#measuredAtMs = nowMs;
    if (((await this.child.rssBytes()) ?? 0) < mostMemory) return;
    for (const session of idle.slice(0, Math.ceil(idle.length / 2))) await session.end({ type: "memory" });
  }

  /** Deletes a session that it does not have open, if the agent can delete sessions. */
  async deleteStored(sessionId: string, signal: AbortSignal): Promise<void> {
    if (!this.abilities.canDelete) return;
    try {
      await this.peer.request("session/delete", { sessionId }, signal);
    } catch (error) {
      if (!isUnknownSession(error)) throw error; // it was never stored, or is deleted already
    }
  }

  /** Whether a turn goes on here that the next gateway takes up, or a prompt waits for results. */
  get isAwaited(): boolean {
    const isAwaited = ({ state, works }: Session) => state.place === "left" || works;
    return this.child.host !== undefined && [...this.sessions.values()].some(isAwaited);
  }

  get #place(): object {
    const { meta } = this.own;
    return { cwd: this.#connection.cwd, mcpServers: [], ...(meta === undefined ? {} : { _meta: meta }) };
  }

  async #newSession(offered: readonly ToolSpec[] | undefined): Promise<Session> {
    const { tools, servers } = offered === undefined ? noTools : await this.#openTools(offered);
    const session = new Session(this, tools);
    try {
      if (tools !== undefined && this.own.sharesServers) session.folder = this.#takeFolder();
      const cwd = session.folder === undefined ? this.#connection.cwd : await this.#makeFolder(session.folder);
      const limit = timeLimit(sessionMs);
      const place = { ...this.#place, cwd, mcpServers: servers };
      const reply = await this.peer.request("session/new", place, limit).catch((error: unknown) => {
        this.isStale ||= limit.aborted; // a process that opens no session is of no use
        throw error;
      });
      const options = readSessionOptions(reply);
      const { sessionId: id } = options;
      if (id === undefined) throw new TypeError("session/new gave no session id");
      this.#sessions.set(id, session);
      session.open(id, options);
      return session;
    } catch (error) {
      session.step({ type: "closed" });
      throw error;
    }
  }

  /** Tools for a session that is about to be opened, and the server to open it with. */
  async #openTools(offered: readonly ToolSpec[]): Promise<{ tools: SessionTools; servers: readonly object[] }> {
    const { door, server } = await this.#hub.open().catch((error: unknown) => {
      throw new NoDoor(error);
    });
    const tools = new SessionTools(door, this.own.server);
    tools.offer(offered);
    return { tools, servers: [{ name: this.own.server, ...server }] };
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

  #load(sessionId: string): Promise<unknown> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#track(sessionId, this.peer.nextId, promise);
    this.note();
    return this.peer.call("session/load", { sessionId, ...this.#place }).finally(resolve);
  }

  #track(sessionId: string, id: number, replied: Promise<void>): void {
    const settle = async () => {
      await replied;
      this.#loads.delete(sessionId);
      this.note();
    };
    this.#loads.set(sessionId, { id, done: settle() });
  }
}

const noTools = { tools: undefined, servers: [] };

/** A session with tools cannot be prepared here: the files for that cannot be made. Nothing was asked. */
class NoDoor extends Error {
  constructor(cause: unknown) {
    super("a session with tools cannot be prepared", { cause });
  }
}
