import { bestEffort } from "../../../base/async.ts";
import type { NativePrompt, Prompt, RunOptions } from "../../backend.ts";
import type { Lease } from "../process/process-pool.ts";
import type { AgentParts } from "../session/agent-parts.ts";
import type { AgentProcess } from "../session/agent-process.ts";
import { configure } from "../session/configure.ts";
import { cascadeIdOf, makeRoom } from "../session/kept-sessions.ts";
import type { Session } from "../session/session.ts";

/** One turn of this backend: what it asks, and the process and the session that it has. */
export class AcpTurn {
  readonly parts: AgentParts;
  readonly options: RunOptions;
  readonly signal: AbortSignal;
  /** In the way that was chosen: with the client's tools as the agent's own, or with calls in prose. */
  prompt: Prompt;
  /** The session's id in the log, where a new session took its place. */
  replaced: string | undefined;
  /** A prompt waits in the session, and has not got the results that this turn brings. */
  owesResults = false;
  #lease: Lease<AgentProcess> | undefined;
  #session: Session | undefined;

  constructor(parts: AgentParts, prompt: Prompt, options: RunOptions, signal: AbortSignal) {
    this.parts = parts;
    this.prompt = prompt;
    this.options = options;
    this.signal = signal;
  }

  /** The turn's process; undefined before it has one. */
  get process(): AgentProcess | undefined {
    return this.#lease?.process;
  }

  get session(): Session | undefined {
    return this.#session;
  }

  /** Takes over the lease, and gives back the one held before. */
  use(lease: Lease<AgentProcess>): AgentProcess {
    if (this.#lease !== lease) this.#lease?.release();
    this.#lease = lease;
    this.#session = undefined;
    return lease.process;
  }

  /** The turn has this session of its process from now on. False: it cannot be had. */
  take(session: Session, results?: readonly string[]): boolean {
    return this.#own(session, session.take(results));
  }

  /** The session that the turn before a restart had. False: it cannot be had. */
  resume(session: Session): boolean {
    return this.#own(session, session.step({ type: "resumed" }));
  }

  #own(session: Session, isOurs: boolean): boolean {
    if (isOurs) this.#session = session;
    return isOurs;
  }

  /** The turn has this session, which is new here, and sets it up for the prompt. */
  async setUp(process: AgentProcess, session: Session, signal: AbortSignal): Promise<void> {
    this.take(session);
    await this.configure(process, session, signal);
  }

  async configure(process: AgentProcess, session: Session, signal: AbortSignal): Promise<void> {
    const { parts, prompt } = this;
    await configure({ parts, process, session, prompt }, signal);
  }

  /** The agent has the client's tools as its own. */
  askNatively({ instructions, text }: NativePrompt): void {
    this.prompt = { ...this.prompt, instructions, text, form: "text" };
  }

  /** The prompt teaches calls in prose. */
  askInProse(): void {
    const { native: _native, ...prose } = this.prompt;
    this.prompt = prose;
  }

  /** Discards the session that the turn has now. Answers whether that succeeded. */
  async discard(): Promise<boolean> {
    const session = this.#session;
    this.#session = undefined;
    let isDiscarded = session !== undefined;
    await bestEffort(session?.end({ type: "discarded" }) ?? Promise.resolve(), () => (isDiscarded = false));
    return isDiscarded;
  }

  /**
   * Keeps the session for the next turn, leaves it to the next gateway or as it was, or cancels what runs and discards it. Gives the process
   * back in any case. Never throws. `isNamed`: the caller has the session's id. `end`: of the turn, if the caller has it.
   *
   * Called once the end of the turn is stored. Where it is not stored, as after a cancel, a note says first that the session
   * was discarded: to a later process it would look like one that was never prompted. A session that could not be discarded
   * is reported by `onLeft`.
   */
  async close(isNamed: boolean, end: "finished" | "otherwise" | undefined): Promise<void> {
    const [lease, session] = [this.#lease, this.#session];
    const { parts, options, signal } = this;
    this.#session = undefined;
    if (lease === undefined) return;
    try {
      if (session === undefined) return;
      if (isNamed && signal.aborted && signal.reason === "detach") session.step({ type: "detached" });
      else if (this.owesResults && end === undefined)
        session.release(); // as the turn found it
      else if (options.keep && end === "finished") {
        session.release(); // from here on the next turn may have it
        makeRoom(parts.pool.processes);
        await bestEffort(lease.process.saveMemory());
      } else {
        if (end === undefined) await parts.moved.discarded(session.id);
        await session.end({ type: "discarded" });
        if (end !== undefined && this.replaced !== undefined) await parts.moved.forget(this.replaced);
      }
    } catch {
      if (session !== undefined) options.onLeft?.(cascadeIdOf(parts.spec.name, session.id)); // the note could not be written, or the agent died: the session stays, and is deleted later
      await session?.stop();
      session?.step({ type: "released" });
    } finally {
      lease.release();
    }
  }
}
