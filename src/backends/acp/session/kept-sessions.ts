import { mkdir, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { bestEffort, deadline, notNeeded, within } from "../../../base/async.ts";
import type { Clock } from "../../../base/clock.ts";
import { readIfThere, syncFolder } from "../../../base/node/durable-file.ts";
import { remove } from "../../../base/node/move-file.ts";
import { replaceFile } from "../../../base/node/replace-file.ts";
import { isUnknownSession } from "../process/errors.ts";
import type { AgentProcess } from "./agent-process.ts";
import type { OpenSession } from "./open-session.ts";

/** How many prompts of an agent may wait for results; the oldest is cancelled for a further one. */
const mostParked = 16;
/** How long a session that an earlier gateway left is kept for the turn that goes on in it; ms. */
const untakenMs = 10 * 60_000;
const cancelMs = 2_000;
const discardMs = 5_000;
/** Agents with a child process for each session reach this with a few of them. */
const mostMemory = 1024 ** 3;
/** How often it is asked for at most, which reads the list of all processes of the machine; ms. */
const memoryEveryMs = 10_000;
/** No turn needs a note that is older than this. */
const oldMs = 30 * 24 * 3_600_000;
const maxReplacements = 8;

/**
 * The sessions of one agent between turns: which session a conversation goes on in, which prompts wait for a client's results, and how a
 * session ends. How long a prompt may wait is not decided here: `turns/continuity` discards what nobody continues. Two things about a session that a turn's log names are noted on disk, before the change itself:
 *
 * - Another session replaced this one. A session that the agent never stored cannot be prompted after a crash, so the prompt
 *   goes to a new one. After a second crash the note leads to the new session, and no third session gets the prompt.
 * - The session was discarded before the end of its turn was stored. A later process does not mistake it for a session that
 *   was never prompted.
 */
export class KeptSessions {
  readonly #clock: Clock;
  readonly #folder: string;
  readonly #parked = new Map<string, { process: AgentProcess; session: OpenSession }>();
  readonly #measuredAtMs = new WeakMap<AgentProcess, number>();
  #pruned = false;

  /** `folder`: the agent's. */
  constructor(clock: Clock, folder: string) {
    this.#clock = clock;
    this.#folder = join(folder, "moved-sessions");
  }

  /**
   * The session that took the place of this one last, else itself. `before`: user messages of the conversation that count before those of that
   * session, which goes on with the numbers of the one whose place it took.
   */
  async last(sessionId: string) {
    const { ids, before, isDiscarded } = await this.#chain(sessionId);
    return { id: ids.at(-1) ?? sessionId, before, isDiscarded };
  }

  /** Resolves once the note would survive a crash of the machine. `before`: as of `last`. */
  async moved(from: string, to: string, before = 0): Promise<void> {
    await this.#write(from, `${before} ${to}`);
  }

  /** Resolves once the note would survive a crash of the machine. */
  async discarded(sessionId: string): Promise<void> {
    await this.#write(sessionId, "");
  }

  /** Removes the notes on the session and on the sessions that replaced it. */
  async forget(sessionId: string): Promise<void> {
    const { ids } = await this.#chain(sessionId);
    for (const id of ids.reverse()) await remove(this.#path(id));
  }

  /** The prompt of this session waits for results from now on, until a turn has it or it is discarded. */
  park(process: AgentProcess, session: OpenSession): void {
    const { id } = session;
    this.goOn(id); // the newest is last
    this.#parked.set(id, { process, session });
    const [oldest] = this.#parked.keys();
    if (this.#parked.size > mostParked && oldest !== undefined) void bestEffort(this.#cancel(oldest));
  }

  /** A turn has the session, or it is gone. */
  goOn(sessionId: string): void {
    this.#parked.delete(sessionId);
  }

  /** Cancels the prompts that wait for any of these calls: the client asked in another way. */
  supersede(callIds: readonly string[]): void {
    for (const [id, { session }] of this.#parked)
      if (session.tools?.given.some((callId) => callIds.includes(callId)) === true) void bestEffort(this.#cancel(id));
  }

  /**
   * The sessions of a process that an earlier gateway left: their prompts wait on. One that no turn takes is discarded after a while: the
   * end of its turn was stored before the gateway was killed.
   */
  async adopt(process: AgentProcess): Promise<void> {
    for (const session of process.sessions.values())
      if ((session.tools?.kept.given ?? []).length > 0) this.park(process, session);
    const over = new AbortController();
    void process.child.exited.then(() => over.abort(notNeeded));
    await bestEffort(this.#clock.sleep(untakenMs, over.signal));
    if (over.signal.aborted) return;
    for (const { id, isLeft, isHeld, running } of process.sessions.values())
      if (isLeft && !isHeld && running === undefined) await bestEffort(this.discard(process, id));
  }

  /** Stops the agent where it still works on the session's prompt; the session stays. */
  async stop(process: AgentProcess, sessionId: string): Promise<void> {
    const running = process.sessions.get(sessionId)?.running;
    if (running === undefined) return;
    process.cancel(sessionId);
    if ((await within(running.ended, cancelMs, this.#clock)) === undefined) process.abandon(sessionId); // it does not listen
  }

  /** Stops a session that works, and deletes or closes it as the agent allows. Throws where that failed: the session is still there. */
  async discard(process: AgentProcess, sessionId: string): Promise<void> {
    await this.stop(process, sessionId);
    try {
      await process.discard(sessionId, deadline(new AbortController().signal, discardMs));
    } catch (error) {
      if (!isUnknownSession(error)) throw error; // it was never stored, or is deleted already
    }
  }

  /** Closes half of the sessions that wait for their next turn, where the agent and its children take too much memory. */
  async saveMemory(process: AgentProcess): Promise<void> {
    const idle = [...process.sessions.values()].filter(({ running }) => running === undefined).length;
    const nowMs = this.#clock.monotonic();
    if (idle < 2 || nowMs - (this.#measuredAtMs.get(process) ?? Number.NEGATIVE_INFINITY) < memoryEveryMs) return;
    this.#measuredAtMs.set(process, nowMs);
    if (((await process.child.rssBytes()) ?? 0) < mostMemory) return;
    await process.closeIdle(Math.floor(idle / 2), deadline(new AbortController().signal, discardMs));
  }

  async #cancel(sessionId: string): Promise<void> {
    const { process, session } = this.#parked.get(sessionId) ?? {};
    this.goOn(sessionId);
    if (process !== undefined && process.sessions.get(sessionId) === session) await this.discard(process, sessionId);
  }

  async #chain(sessionId: string) {
    const ids = [sessionId];
    let before = 0;
    for (let at = sessionId; ids.length <= maxReplacements; ) {
      const next = await this.#read(at);
      if (next === undefined) break;
      if (next === "") return { ids, before, isDiscarded: true };
      const space = next.indexOf(" ");
      before = Number(next.slice(0, space));
      at = next.slice(space + 1);
      ids.push(at);
    }
    return { ids, before, isDiscarded: false };
  }

  async #write(sessionId: string, text: string): Promise<void> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    await this.#prune();
    await replaceFile(this.#path(sessionId), text, { flush: true });
    await bestEffort(syncFolder(this.#folder));
  }

  /** Removes old notes, once for each start of the gateway. */
  async #prune(): Promise<void> {
    if (this.#pruned) return;
    this.#pruned = true;
    for (const name of await readdir(this.#folder)) {
      const path = join(this.#folder, name);
      const { mtimeMs } = await stat(path);
      if (mtimeMs < this.#clock.now() - oldMs) await remove(path);
    }
  }

  async #read(sessionId: string): Promise<string | undefined> {
    const bytes = await readIfThere(this.#path(sessionId));
    return bytes && new TextDecoder().decode(bytes);
  }

  #path(sessionId: string): string {
    return join(this.#folder, `session-${encodeURIComponent(sessionId)}`); // the prefix keeps `..` a name
  }
}
