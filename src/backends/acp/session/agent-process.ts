import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { bestEffort, deadline, orAborted } from "../../../base/async.ts";
import type { Clock } from "../../../base/clock.ts";
import { isObject, type JsonObject, writeJson } from "../../../base/json.ts";
import { type Abilities, readAbilities } from "../wire/abilities.ts";
import { askedInText } from "../process/errors.ts";
import type { KeptProcess } from "./kept-process.ts";
import type { LinesLost } from "../host/wire.ts";
import { answered, type PromptEnd, RunningPrompt } from "./running-prompt.ts";
import { readSessionOptions, type SessionOffer } from "./session-options.ts";
import type { NativeTools } from "../relay/relay-hub.ts";
import type { KeptTools, SessionTools } from "./session-tools.ts";
import type { AgentChild } from "../wire/agent-child.ts";
import type { OwnSettings } from "../known/own-settings.ts";
import { PipePeer, ProcessLoss, type Reply, RpcError } from "../wire/rpc-peer.ts";
import { type OpenSession, openSession, SessionRouter } from "../process/session-router.ts";

export type { OpenSession } from "../process/session-router.ts";

const startMs = 60_000;
const sessionMs = 60_000;
const optionMs = 15_000;

/** Where and how a process was started. */
interface Start {
  readonly cwd: string;
  readonly own: OwnSettings;
  /** As `KeptProcess` has them. */
  readonly launch: string;
  readonly settings: string;
}

/** One process of an agent, past its `initialize`: opens sessions, sends prompts, and passes each update to its session. */
export class AgentProcess {
  readonly child: AgentChild;
  /** From its start to its answer to `initialize`; unknown for a process that an earlier gateway started. */
  readonly startupMs: number | undefined;
  readonly abilities: Abilities;
  /** The settings that it was started with. */
  readonly own: OwnSettings;
  readonly #peer: PipePeer;
  readonly #router: SessionRouter;
  readonly #start: Start;
  readonly #initialized: unknown;
  /** Sessions that the agent is opening and whose callers did not wait: the next caller that wants the same tools gets one. */
  readonly #late = new Map<string, Promise<OpenSession>>();
  /** The numbers of the folders that sessions have for themselves. A free one is used again: the agent keeps what it has for each folder. */
  readonly #folders = new Set<number>();
  /** Requests of `session/load` without a reply, by session. */
  readonly #loads = new Map<string, { readonly id: number; readonly done: Promise<void> }>();

  /** Sessions that an earlier gateway kept, until they are closed. */
  readonly #unwanted = new Set<string>();
  readonly #cut = new Map<string, LinesLost>();

  private constructor(
    { child, peer, router }: ProcessParts,
    start: Start,
    initialized: unknown,
    startupMs: number | undefined,
  ) {
    this.child = child;
    this.own = start.own;
    this.startupMs = startupMs;
    this.abilities = readAbilities(initialized);
    this.#peer = peer;
    this.#router = router;
    this.#start = start;
    this.#initialized = initialized;
    router.onQuestion = (text) => this.#giveUp(text);
    this.note();
  }

  /**
   * Greets a process that was just started. Tries each client name in turn while the agent refuses the one before. Throws
   * `RpcError`, `ProcessLoss`, a `TimeoutError` after 60 s, or the signal's reason.
   */
  static async greet(
    child: AgentChild,
    { names, clock, ...start }: Start & { readonly names: readonly string[]; readonly clock: Clock },
    signal: AbortSignal,
  ): Promise<AgentProcess> {
    const begunMs = clock.monotonic();
    const wired = wire(child);
    const reply = await initialize(wired.peer, names, deadline(signal, startMs));
    return new AgentProcess(wired, start, reply, clock.monotonic() - begunMs);
  }

  /**
   * A process that an earlier gateway left in its host: its sessions are open, and its prompts run or have ended. Those that were kept
   * for a next turn are closed: their gateway alone knew what they hold.
   */
  static adopt(
    child: AgentChild,
    kept: KeptProcess,
    {
      restore,
      lost,
      ...start
    }: Start & { readonly restore: (tools: KeptTools) => SessionTools; readonly lost?: LinesLost },
  ): AgentProcess {
    const process = new AgentProcess(wire(child), start, kept.initialized, undefined);
    for (const { id, userMessages, told, prompt, folder, idle, tools: keptTools } of kept.sessions) {
      if (folder !== undefined) process.#folders.add(folder);
      if (idle === true) process.#unwanted.add(id);
      if (prompt !== undefined && prompt.from < (child.host?.read ?? 0)) process.#cut.set(id, lost ?? "too_many");
      const tools = keptTools === undefined ? undefined : restore(keptTools);
      const given = keptTools?.given ?? [];
      const session = { ...openSession(id, readSessionOptions({}), tools), userMessages, told, given, folder };
      process.#router.sessions.set(id, session);
      if (prompt === undefined || process.#cut.has(id)) continue;
      session.isLeft = true;
      session.prompt = prompt;
      process.#peer.expect(prompt.id, process.#run(session));
    }
    for (const { sessionId, id } of kept.loads) {
      const replied = new Promise<void>((resolve) => process.#peer.expect(id, () => resolve()));
      process.#track(sessionId, id, replied);
    }
    process.note();
    for (const id of process.#unwanted) void bestEffort(process.discard(id, AbortSignal.timeout(sessionMs)));
    return process;
  }

  /** Why the host gave up lines of this session's prompt, so that nobody knows all of its answer; undefined where it has them. */
  lostIn(sessionId: string): LinesLost | undefined {
    return this.#cut.get(sessionId);
  }

  /** It has to make room for a new process once nothing runs in it. */
  isStale = false;

  get sessions(): ReadonlyMap<string, OpenSession> {
    return this.#router.sessions;
  }

  /** How many calls of the client's tools the agent asked permission for. */
  get permissions(): number {
    return this.#router.granted;
  }

  get runningTurns(): number {
    return [...this.sessions.values()].filter(({ running }) => running !== undefined).length;
  }

  /**
   * A new session, with these tools as the agent's own if there are any. If an abort leaves a session behind, the next call for the same
   * tools gets it: a slow agent then needs no longer for each try.
   */
  async newSession(signal: AbortSignal, native?: NativeTools): Promise<OpenSession> {
    const key = native === undefined ? "" : writeJson(native.offered);
    const open = this.#late.get(key) ?? this.#newSession(native);
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
    const replay: JsonObject[] = [];
    this.#router.replays.set(id, replay);
    try {
      const reply = await orAborted(this.#load(id), limit);
      const session = openSession(id, readSessionOptions(reply));
      this.#open(session);
      return { session, replay };
    } finally {
      this.#router.replays.delete(id);
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
    const sessions = [...this.sessions.values()].map(({ id, userMessages, told, folder, tools, given, ...session }) => {
      const idle = session.running === undefined && !session.isHeld && !session.isLeft;
      const prompt = idle ? undefined : session.prompt;
      if (tools !== undefined) parts[id] = tools.offered;
      return { id, userMessages, told, prompt, folder, idle, tools: tools && { ...tools.address, given } };
    });
    const loads = [...this.#loads].map(([sessionId, { id }]) => ({ sessionId, id }));
    const { launch, settings } = this.#start;
    const kept = { launch, settings, initialized: this.#initialized, sessions, loads };
    const running = [...this.sessions.values()].flatMap((session) => (session.running && session.prompt?.id) ?? []);
    const keep = Math.min(host.read, ...sessions.map(({ prompt }) => prompt?.from ?? host.read));
    host.note({ state: writeJson(kept), parts, keep, running, sessions: [...this.sessions.keys()] });
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
    const idle = [...this.sessions.values()].filter(
      ({ running, isHeld, isLeft }) => running === undefined && !isHeld && !isLeft,
    );
    for (const { id } of idle.slice(0, Math.max(0, idle.length - most))) {
      this.#forget(id);
      await this.#peer.request("session/close", { sessionId: id }, signal);
    }
  }

  /** Gives up a prompt that the agent does not stop: the process ends once no other turn runs in it. */
  abandon(sessionId: string): void {
    const session = this.#router.sessions.get(sessionId);
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
    return { cwd: this.#start.cwd, mcpServers: [], ...(meta === undefined ? {} : { _meta: meta }) };
  }

  async #newSession(native: NativeTools | undefined): Promise<OpenSession> {
    const opened = await native?.open().catch((error: unknown) => {
      throw new NoDoor(error);
    });
    void this.child.exited.then(() => opened?.tools.close());
    const folder = opened !== undefined && this.own.sharesServers ? this.#takeFolder() : undefined;
    try {
      const cwd = folder === undefined ? this.#start.cwd : await this.#makeFolder(folder);
      const limit = AbortSignal.timeout(sessionMs);
      const place = { ...this.#place, cwd, ...(opened === undefined ? {} : { mcpServers: [opened.server] }) };
      const reply = await this.#peer.request("session/new", place, limit).catch((error: unknown) => {
        this.isStale ||= limit.aborted; // a process that opens no session is of no use
        throw error;
      });
      const options = readSessionOptions(reply);
      const { sessionId: id } = options;
      if (id === undefined) throw new TypeError("session/new gave no session id");
      const session = { ...openSession(id, options, opened?.tools), folder };
      this.#open(session);
      return session;
    } catch (error) {
      opened?.tools.close();
      this.#giveBack(folder);
      throw error;
    }
  }

  #open(session: OpenSession): void {
    this.#router.sessions.set(session.id, session);
    this.note();
  }

  #takeFolder(): number {
    let folder = 1;
    while (this.#folders.has(folder)) folder++;
    this.#folders.add(folder);
    return folder;
  }

  async #makeFolder(folder: number): Promise<string> {
    const path = join(this.#start.cwd, String(folder));
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
    this.#router.sessions.delete(sessionId);
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

/** A session with tools cannot be prepared here: the files for that cannot be made. Nothing was asked. */
export class NoDoor extends Error {
  constructor(cause: unknown) {
    super("a session with tools cannot be prepared", { cause });
  }
}

interface ProcessParts {
  readonly child: AgentChild;
  readonly peer: PipePeer;
  readonly router: SessionRouter;
}

function wire(child: AgentChild): ProcessParts {
  const router = new SessionRouter(() => child.host?.read);
  return { child, router, peer: new PipePeer(child, router) };
}

async function initialize(peer: PipePeer, names: readonly string[], signal: AbortSignal): Promise<unknown> {
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
  return error instanceof ProcessLoss ? { type: "died", how: error.message } : { type: "refused", error };
}
