import { bestEffort } from "../../../base/async.ts";
import type { Prompt, RunOptions } from "../../backend.ts";
import type { Lease } from "../process/process-pool.ts";
import type { AgentParts } from "./agent-parts.ts";
import type { AgentProcess } from "./agent-process.ts";
import { cascadeIdOf, type OpenSession } from "./open-session.ts";

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
    return await this.#parts.kept.discard(this.#lease.process, id).then(
      () => true,
      () => false,
    );
  }

  /** Stops the agent where it still works on the prompt; the session stays for now. */
  async stop(): Promise<void> {
    if (this.#lease === undefined || this.#session === undefined) return;
    await this.#parts.kept.stop(this.#lease.process, this.#session.id);
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
    const [lease, session] = [this.#lease, this.#session];
    const { kept, spec } = this.#parts;
    if (lease === undefined) return;
    try {
      if (session !== undefined && !this.#stays(options, signal)) {
        if (!this.told) await kept.discarded(session.id);
        await kept.discard(lease.process, session.id);
        if (this.told && this.replaced !== undefined) await kept.forget(this.replaced);
      } else if (session !== undefined) {
        this.#session = undefined; // from here on the next turn may hold it
        session.isHeld = false;
        session.isLeft = isDetached(signal) || this.ended === "no";
        if (session.isLeft) return;
        session.settle();
        lease.process.note();
        await bestEffort(kept.saveMemory(lease.process));
      }
    } catch {
      if (session !== undefined) options.onLeft?.(cascadeIdOf(spec.name, session.id)); // the note could not be written, or the agent died: the session stays, and is deleted later
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

/** What one run of the backend has. */
export interface AcpRun {
  readonly parts: AgentParts;
  readonly prompt: Prompt;
  readonly options: RunOptions;
  readonly signal: AbortSignal;
  readonly held: HeldSession;
}
