import { bestEffort, deadline, within } from "../../base/async.ts";
import type { RunOptions } from "../backend.ts";
import type { AgentProcess, OpenSession } from "./agent-process.ts";
import type { Lease } from "./process-pool.ts";
import type { AgentParts } from "./turn-parts.ts";

const cancelMs = 2_000;
const discardMs = 5_000;

/** The session that a turn has, its process, and how far the turn went: for the clean-up at its end. */
export class HeldSession {
  readonly #parts: AgentParts;
  #lease: Lease | undefined;
  #session: OpenSession | undefined;
  #cleaned = false;
  /** `finished`: a whole answer came. `otherwise`: it failed, was cancelled, or the consumer left. */
  ended: "no" | "finished" | "otherwise" = "no";
  /** The caller has received the end event. */
  told = false;
  /** The session's id was told to the caller. */
  named = false;
  /** The id in the turn's log, where a new session took its place. */
  replaced: string | undefined;

  constructor(parts: AgentParts) {
    this.#parts = parts;
  }

  /** Takes over the lease; the one that was held before is given back. */
  hold(lease: Lease, session: OpenSession | undefined): void {
    if (this.#lease !== lease) this.#lease?.release();
    this.#lease = lease;
    this.#session = session;
  }

  /**
   * Cancels what runs and discards the session, unless it is kept for the next turn or the turn is only detached. Done once;
   * never throws.
   */
  async discard(options: RunOptions, signal: AbortSignal): Promise<void> {
    if (this.#lease === undefined || this.#session === undefined || this.#stays(options, signal)) return;
    this.#cleaned = true;
    await discardSession(this.#parts, this.#lease.process, this.#session.id, this.replaced);
  }

  /** Discards the session where it does not stay, and gives the process back. */
  async close(options: RunOptions, signal: AbortSignal): Promise<void> {
    try {
      await this.discard(options, signal);
    } finally {
      this.#lease?.release();
    }
  }

  #stays(options: RunOptions, signal: AbortSignal): boolean {
    if (this.#cleaned) return true;
    if (signal.aborted && signal.reason === "detach" && this.named) return true;
    return options.keep && this.ended === "finished";
  }
}

/** Stops a session that works, and deletes or closes it as the agent allows. */
export async function discardSession(
  { clock, notes }: AgentParts,
  process: AgentProcess,
  id: string,
  replaced: string | undefined,
): Promise<void> {
  const running = process.sessions.get(id)?.running;
  if (running !== undefined) {
    process.cancel(id);
    await within(running.ended, cancelMs, clock);
  }
  await bestEffort(process.discard(id, deadline(new AbortController().signal, discardMs)));
  if (replaced !== undefined) await bestEffort(notes.forget(replaced));
}
