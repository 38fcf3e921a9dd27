import { bestEffort, deadline, notNeeded, within } from "../../../base/async.ts";
import type { Prompt, RunOptions } from "../../backend.ts";
import { forgetSession } from "../known/own-settings.ts";
import { isUnknownSession } from "../process/errors.ts";
import type { Lease } from "../process/process-pool.ts";
import type { AgentParts } from "./agent-parts.ts";
import type { AgentProcess } from "./agent-process.ts";
import type { OpenSession } from "./open-session.ts";

const cancelMs = 2_000;
/** Agents with a child process for each session reach this with a few of them. */
const mostMemory = 1024 ** 3;
const discardMs = 5_000;

/** The session that a turn has, its process, and how far the turn went: for the clean-up at its end. */
export class HeldSession {
  readonly #parts: AgentParts;
  #lease: Lease<AgentProcess> | undefined;
  #session: OpenSession | undefined;
  /** `finished`: a whole answer came. `otherwise`: it failed, was cancelled, or the consumer left. */
  ended: "no" | "finished" | "otherwise" = "no";
  /** The caller has received the end event. */
  told = false;
  /** The caller has received the session's id. */
  named = false;
  /** The id in the turn's log, where a new session took its place. */
  replaced: string | undefined;

  constructor(parts: AgentParts) {
    this.#parts = parts;
  }

  /** Takes over the lease and gives back the one held before. The next gateway is told: it closes sessions that no turn has. */
  hold(lease: Lease<AgentProcess>, session: OpenSession | undefined): void {
    if (this.#lease !== lease) this.#lease?.release();
    if (this.#session !== undefined) this.#session.isHeld = false;
    if (session !== undefined) Object.assign(session, { isHeld: true, isLeft: false });
    this.#lease = lease;
    this.#session = session;
    lease.process.note();
  }

  /** The turn's process; undefined before it has one. */
  get process(): AgentProcess | undefined {
    return this.#lease?.process;
  }

  get session(): OpenSession | undefined {
    return this.#session;
  }

  /** Discards the session that the turn has now. Answers whether that succeeded. */
  async discard(): Promise<boolean> {
    if (this.#lease === undefined || this.#session === undefined) return false;
    const { id } = this.#session;
    this.#session = undefined;
    return await discardSession(this.#parts, this.#lease.process, id).then(
      () => true,
      () => false,
    );
  }

  /** Stops the agent where it still works on the prompt; the session stays for now. */
  async stop(): Promise<void> {
    if (this.#lease === undefined || this.#session === undefined) return;
    await stopSession(this.#parts, this.#lease.process, this.#session.id);
  }

  /**
   * Cancels what runs and discards the session, unless it is kept for the next turn or the turn is only detached. Gives the
   * process back in any case. Never throws.
   *
   * Called once the end of the turn is stored. Where it is not stored, as after a cancel, a note says first that the session
   * was discarded: to a later process it would look like one that was never prompted. A session that could not be discarded
   * is reported by `onLeft`.
   */
  async close(options: RunOptions, signal: AbortSignal): Promise<void> {
    const lease = this.#lease;
    if (lease === undefined) return;
    try {
      if (this.#session !== undefined && !this.#stays(options, signal)) {
        if (!this.told) await this.#parts.notes.discarded(this.#session.id);
        await discardSession(this.#parts, lease.process, this.#session.id);
        if (this.told && this.replaced !== undefined) await this.#parts.notes.forget(this.replaced);
      } else if (this.#session !== undefined) {
        const session = this.#session;
        this.#session = undefined; // from here on the next turn may hold it
        session.isHeld = false;
        session.isLeft = isDetached(signal) || this.ended === "no";
        if (session.isLeft) return;
        session.settle();
        lease.process.note();
        await bestEffort(saveMemory(lease.process));
      }
    } catch {
      options.onLeft?.(); // the note could not be written, or the agent died: the session stays, and is deleted later
      await this.stop();
    } finally {
      if (this.#session !== undefined) this.#session.isHeld = false;
      lease.process.note();
      lease.release();
    }
  }

  #stays(options: RunOptions, signal: AbortSignal): boolean {
    if (isDetached(signal) && this.named) return true;
    return options.keep && this.ended === "finished";
  }
}

/** Whether the turn is left to the next gateway, also where its end came: that end was not stored. */
function isDetached(signal: AbortSignal): boolean {
  return signal.aborted && signal.reason === "detach";
}

/** Closes half of the sessions that wait for their next turn, where the agent and its children take too much memory. */
async function saveMemory(process: AgentProcess): Promise<void> {
  const idle = [...process.sessions.values()].filter(({ running }) => running === undefined).length;
  if (idle < 2 || ((await process.child.rssBytes()) ?? 0) < mostMemory) return;
  await process.closeIdle(Math.floor(idle / 2), deadline(new AbortController().signal, discardMs));
}

async function stopSession({ clock }: AgentParts, process: AgentProcess, id: string): Promise<void> {
  const running = process.sessions.get(id)?.running;
  if (running === undefined) return;
  process.cancel(id);
  if ((await within(running.ended, cancelMs, clock)) === undefined) process.abandon(id); // it does not listen
}

/** Stops a session that works, deletes or closes it as the agent allows, and removes what it left on disk. Throws where that failed: the session is still there. */
export async function discardSession(parts: AgentParts, process: AgentProcess, id: string): Promise<void> {
  await stopSession(parts, process, id);
  try {
    await process.discard(id, deadline(new AbortController().signal, discardMs));
  } catch (error) {
    if (!isUnknownSession(error)) throw error; // it was never stored, or is deleted already
  }
  await forgetSession(parts.spec, id);
}

/** How long a session that an earlier gateway left is kept for the turn that goes on in it; ms. */
const untakenMs = 10 * 60_000;

/** Closes what an earlier gateway left in this process and no turn took: the end of its turn was stored before the gateway was killed. */
export async function closeUntaken(parts: AgentParts, process: AgentProcess): Promise<void> {
  const over = new AbortController();
  void process.child.exited.then(() => over.abort(notNeeded));
  await bestEffort(parts.clock.sleep(untakenMs, over.signal));
  if (over.signal.aborted) return;
  for (const { id, isLeft, isHeld, running } of process.sessions.values())
    if (isLeft && !isHeld && running === undefined) await bestEffort(discardSession(parts, process, id));
}

/** The prompt of this session waits for results from now on, until it is cancelled. */
export function waitForResults(parts: AgentParts, process: AgentProcess, { id, tools }: OpenSession): void {
  if (tools === undefined) return;
  parts.native.parked.park(id, {
    isWaiting: (callId) => tools.given.includes(callId),
    cancel: async () => (process.sessions.get(id)?.tools === tools ? discardSession(parts, process, id) : undefined),
  });
}

export interface AcpTurn {
  readonly parts: AgentParts;
  readonly prompt: Prompt;
  readonly options: RunOptions;
  readonly signal: AbortSignal;
  readonly held: HeldSession;
}
