import { bestEffort } from "../../../base/async.ts";
import type { Clock } from "../../../base/clock.ts";
import { splitEffort } from "../../../base/effort.ts";
import type { Prompt, RunOptions } from "../../backend.ts";
import type { AgentHosts } from "../host/hosts.ts";
import type { AcpAgentSpec } from "../known/agent-spec.ts";
import { launchFor } from "../known/devin.ts";
import type { Lease, ProcessPool } from "../process/process-pool.ts";
import type { AgentProcess } from "../session/agent-process.ts";
import type { ModelWish } from "../session/configure.ts";
import { cascadeIdOf, makeRoom } from "../session/kept-sessions.ts";
import type { MovedSessions } from "../session/moved-sessions.ts";
import type { Session } from "../session/session.ts";

/** The parts that all turns of one agent share. Times in ms. */
export interface AgentParts {
  readonly spec: AcpAgentSpec;
  readonly clock: Clock;
  readonly pool: ProcessPool<AgentProcess>;
  readonly hosts: AgentHosts | undefined;
  readonly moved: MovedSessions;
  readonly silenceMs: number;
  /** How long a session that another process holds is waited for. */
  readonly lockedMs: number;
  /** Called for each prompt that is sent. */
  readonly onPrompt: () => void;
}

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
  /** The model that is asked for; undefined for the agent's own choice. */
  readonly wish: ModelWish | undefined;
  /** Its session, once it has taken one. */
  session: Session | undefined;
  #lease: Lease<AgentProcess> | undefined;

  constructor(parts: AgentParts, prompt: Prompt, options: RunOptions, signal: AbortSignal) {
    this.parts = parts;
    this.prompt = prompt;
    this.options = options;
    this.signal = signal;
    const [{ name }, { modelUid }] = [parts.spec, prompt];
    const id = modelUid.startsWith(`${name}/`) ? modelUid.slice(name.length + 1) : modelUid;
    this.wish = id === "" || id === "default" ? undefined : { id, ...splitEffort(id) };
  }

  /** The turn's process; undefined before it has one. */
  get process(): AgentProcess | undefined {
    return this.#lease?.process;
  }

  /** Leases a process that serves the turn's prompt. `recovers`: as `ProcessPool.lease` has it. */
  async lease(signal: AbortSignal, recovers = false): Promise<AgentProcess> {
    const { spec, pool } = this.parts;
    return this.use(await pool.lease(launchFor(spec, this.prompt.form, this.wish?.model), signal, recovers));
  }

  /** Takes over the lease, and gives back the one held before. */
  use(lease: Lease<AgentProcess>): AgentProcess {
    if (this.#lease !== lease) this.#lease?.release();
    this.#lease = lease;
    this.session = undefined;
    return lease.process;
  }

  /** What it asks: natively, where the agent has the client's tools as its own, else with calls in prose. */
  ask({ native, ...prose }: Prompt, isNative: boolean): void {
    if (!isNative || native === undefined) this.prompt = prose;
    else this.prompt = { ...prose, native, instructions: native.instructions, text: native.text, form: "text" };
  }

  /** Discards the session that the turn has now. Answers whether that succeeded. */
  async discard(): Promise<boolean> {
    const session = this.session;
    this.session = undefined;
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
    const [lease, session] = [this.#lease, this.session];
    const { parts, options, signal } = this;
    this.session = undefined;
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
