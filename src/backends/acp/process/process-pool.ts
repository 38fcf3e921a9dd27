import { bestEffort, notNeeded, orAborted } from "../../../base/async.ts";
import type { Clock } from "../../../base/clock.ts";
import { MillraceError } from "../../../base/errors.ts";
import { Notifier } from "../../../base/notifier.ts";
import type { AgentLaunch } from "../known/devin.ts";
import type { Abilities } from "../wire/abilities.ts";
import type { AgentChild } from "../wire/agent-child.ts";

/** What the pool needs of a process. */
export interface PoolProcess {
  readonly child: AgentChild;
  readonly abilities: Abilities;
  readonly sessions: ReadonlyMap<string, unknown>;
  readonly runningTurns: number;
  /** Whether something in it goes on for the next gateway. */
  readonly isAwaited: boolean;
  /** It has to make room for a new process once nothing runs in it. */
  isStale: boolean;
  /** Set by the pool; called when a prompt has ended. */
  onIdle: () => void;
}

/** A process that may not end yet. `release` is called once. */
export interface Lease<P> {
  readonly process: P;
  release(): void;
}

interface Slot<P extends PoolProcess> {
  readonly key: string;
  readonly ready: Promise<P>;
  /** Until it has answered `initialize`. */
  starting: AgentChild | undefined;
  process: P | undefined;
  leases: number;
  lastUsedMs: number;
  /** Aborts the wait for the end of its warm time. */
  cooling: AbortController | undefined;
  /** The pool asked it to end, or leaves it to the next gateway. */
  ending: boolean;
}

/** The recent failures of one launch. */
interface Failure {
  /** Failures in a row. */
  count: number;
  /** The time of the last start, on the monotonic clock. */
  startedMs: number;
  error: MillraceError | undefined;
}

const most = 4;
const endGraceMs = 1_500;
/** Requests wait up to this long. A longer wait is refused at once. */
const patienceMs = 5_000;

/**
 * The processes of one agent, one for each launch and four at most. At the limit the one that was not used for the longest time is
 * ended. Each serves any number of sessions at once. A process is started when it is needed and ended after a time without work.
 */
export class ProcessPool<P extends PoolProcess> {
  readonly #options;
  readonly #slots = new Map<string, Slot<P>>();
  readonly #failures = new Map<string, Failure>();
  readonly #closing = new AbortController();
  readonly #freed = new Notifier();
  /** Looks for what the gateway before left, one after the other: two must not want the same process. */
  #looking: Promise<void> = Promise.resolve();
  /** The first of them, before any process is started. */
  #first: Promise<boolean> | undefined;
  starts = 0;
  crashes = 0;
  /** The abilities of the process that was started last. */
  lastAbilities: Abilities | undefined;

  constructor(options: {
    readonly clock: Clock;
    /** How long a process without work is kept; ms. */
    readonly warmMs: number;
    /** Shortest time between two starts after one failure; doubles with each further one; ms. */
    readonly restartMs: number;
    /** Starts a process, hands it to `onChild`, and sends `initialize`. */
    readonly start: (launch: AgentLaunch, onChild: (child: AgentChild) => void, signal: AbortSignal) => Promise<P>;
    /**
     * The processes that the gateway before left since the last call, each with the key of its launch: undefined where its settings have
     * changed. `isBusy`: there is one that cannot be had now.
     */
    readonly takeOver?: (signal: AbortSignal) => Promise<{
      readonly left: readonly (readonly [key: string | undefined, process: P])[];
      readonly isBusy: boolean;
    }>;
  }) {
    this.#options = options;
  }

  get processes(): readonly P[] {
    return [...this.#slots.values()].flatMap(({ process }) => (process === undefined ? [] : [process]));
  }

  /**
   * The process of this launch, started if need be. Throws as `start` does; during the pause after a failed start it throws that failure
   * again. `recovers`: a stored answer is to be read, and no prompt waits for this process; then there is no pause.
   */
  async lease(launch: AgentLaunch, signal: AbortSignal, recovers = false): Promise<Lease<P>> {
    this.#first ??= this.#takeOver();
    await orAborted(this.#first, signal);
    for (;;) {
      signal.throwIfAborted();
      if (this.#closing.signal.aborted) throw new MillraceError("cancelled", "The agent is being closed.");
      const there = this.#slots.get(launch.key);
      if (there !== undefined && !there.ending) return await this.#take(there, signal);
      const over = new AbortController();
      const freed = this.#freed.wait(AbortSignal.any([signal, over.signal])); // before the look: room may come while it goes on
      freed.catch(() => {});
      if (there !== undefined || !(await this.#roomFor(signal))) {
        await freed;
        continue;
      }
      over.abort(notNeeded);
      if (!recovers) await this.#pause(launch.key, signal);
      if (!this.#slots.has(launch.key)) this.#start(launch);
    }
  }

  /**
   * The process that has this session open, if any has: one of this gateway's, or one that the gateway before left. `busy`: there is a
   * process of this agent that cannot be had now, and it may have the session.
   */
  async leaseHolding(sessionId: string): Promise<Lease<P> | "busy" | undefined> {
    const here = this.#holding(sessionId);
    if (here !== undefined) return here;
    const isBusy = await this.#takeOver();
    return this.#holding(sessionId) ?? (isBusy ? "busy" : undefined);
  }

  #holding(sessionId: string): Lease<P> | undefined {
    for (const slot of this.#slots.values()) {
      if (slot.ending || slot.process?.sessions.has(sessionId) !== true) continue;
      return { process: slot.process, release: this.#lend(slot) };
    }
    return undefined;
  }

  /** When a process that is not ready yet last wrote anything; ms of the monotonic clock, 0 where there is none. */
  get startingHeardMs(): number {
    return Math.max(0, ...[...this.#slots.values()].map(({ starting }) => starting?.heardMs ?? 0));
  }

  /** A prompt was answered by a process of this launch: it works. */
  worked(key: string): void {
    const failure = this.#failures.get(key);
    if (failure !== undefined) Object.assign(failure, { count: 0, error: undefined });
  }

  async close(): Promise<void> {
    this.#closing.abort(new MillraceError("cancelled", "The agent is being closed."));
    await Promise.all([...this.#slots.values()].map((slot) => this.#leave(slot)));
  }

  /** Takes over what the gateway before left until now. Answers whether there may be a process that cannot be had now. Never rejects. */
  async #takeOver(): Promise<boolean> {
    let isBusy = true; // as long as nobody could look
    const look = async () => {
      const found = await this.#options.takeOver?.(this.#closing.signal);
      isBusy = found?.isBusy === true;
      for (const [key, process] of found?.left ?? []) {
        const isFree = key !== undefined && !this.#slots.has(key);
        process.isStale ||= !isFree;
        this.#begin(isFree ? key : `pid ${process.child.pid}`, process);
      }
    };
    const looked = this.#looking.then(() => bestEffort(look()));
    this.#looking = looked;
    await looked;
    return isBusy;
  }

  async #take(slot: Slot<P>, signal: AbortSignal): Promise<Lease<P>> {
    const release = this.#lend(slot);
    try {
      return { process: await orAborted(slot.ready, signal), release };
    } catch (error) {
      release();
      throw error;
    }
  }

  /** Keeps the process until the function that this gives is called; once is enough. */
  #lend(slot: Slot<P>): () => void {
    slot.leases++;
    slot.cooling?.abort();
    let isReleased = false;
    return () => {
      if (isReleased) return;
      isReleased = true;
      slot.leases--;
      this.#rest(slot);
    };
  }

  #start(launch: AgentLaunch): void {
    const { clock, start } = this.#options;
    this.starts++;
    const onChild = (starting: AgentChild) => Object.assign(this.#slots.get(launch.key) ?? {}, { starting });
    const failure = this.#begin(launch.key, start(launch, onChild, this.#closing.signal));
    failure.startedMs = clock.monotonic();
  }

  #begin(key: string, started: P | Promise<P>): Failure {
    const failure = this.#failures.get(key) ?? { count: 0, startedMs: 0, error: undefined };
    this.#failures.set(key, failure);
    const lastUsedMs = this.#options.clock.monotonic();
    const nothing = { starting: undefined, process: undefined, cooling: undefined };
    const slot: Slot<P> = {
      key,
      ready: Promise.resolve(started),
      ...nothing,
      leases: 0,
      lastUsedMs,
      ending: false,
    };
    this.#slots.set(key, slot);
    if (!(started instanceof Promise)) this.#ready(slot, started);
    void this.#watch(slot, failure);
    return failure;
  }

  /** Follows a process from its start to its end; never rejects. */
  async #watch(slot: Slot<P>, failure: Failure): Promise<void> {
    let process: P;
    try {
      process = await slot.ready;
    } catch (error) {
      failure.count++;
      failure.error = error instanceof MillraceError ? error : undefined;
      this.#remove(slot);
      return;
    }
    this.#ready(slot, process);
    this.#rest(slot);
    await process.child.exited;
    this.#exited(slot);
  }

  #ready(slot: Slot<P>, process: P): void {
    slot.process = process;
    slot.starting = undefined;
    this.lastAbilities = process.abilities;
    process.onIdle = () => this.#rest(slot);
  }

  #exited(slot: Slot<P>): void {
    if (!slot.ending) {
      this.crashes++;
      const failure = this.#failures.get(slot.key);
      if (failure !== undefined) failure.count++;
    }
    this.#remove(slot);
  }

  #remove(slot: Slot<P>): void {
    slot.cooling?.abort();
    if (this.#slots.get(slot.key) === slot) this.#slots.delete(slot.key);
    this.#freed.wake();
  }

  /** Waits until the next start is due. If the pause is long, it throws the last failure instead of waiting. */
  async #pause(key: string, signal: AbortSignal): Promise<void> {
    const failure = this.#failures.get(key);
    if (failure === undefined || failure.count === 0) return;
    const { clock, restartMs } = this.#options;
    const leftMs = failure.startedMs + restartPause(failure.count, restartMs) - clock.monotonic();
    if (leftMs <= 0) return;
    if (leftMs > patienceMs) {
      const { code, message, hint } = failure.error ?? crashedOften;
      throw new MillraceError(code, message, { hint, retryAfterMs: leftMs, repeated: true });
    }
    await clock.sleep(leftMs, AbortSignal.any([signal, this.#closing.signal]));
  }

  /** Whether one more process may start. At the limit it ends the idle process that was not used for the longest time. */
  async #roomFor(signal: AbortSignal): Promise<boolean> {
    if (this.#slots.size < most) return true;
    const idle = [...this.#slots.values()]
      .filter((slot) => isIdle(slot) && !slot.ending)
      .sort((a, b) => a.lastUsedMs - b.lastUsedMs)[0];
    if (idle === undefined) return false;
    await orAborted(this.#end(idle), signal);
    return this.#slots.size < most;
  }

  /** A process that has nothing to do ends after its warm time, unless it is used before. */
  #rest(slot: Slot<P>): void {
    this.#freed.wake();
    slot.lastUsedMs = this.#options.clock.monotonic();
    if (!isIdle(slot) || slot.ending) return;
    slot.cooling?.abort();
    if (slot.process?.isStale === true) {
      void this.#end(slot);
      return;
    }
    const cooling = new AbortController();
    slot.cooling = cooling;
    const { clock, warmMs } = this.#options;
    const cooled = clock.sleep(warmMs, AbortSignal.any([cooling.signal, this.#closing.signal]));
    void bestEffort(cooled.then(() => (isIdle(slot) ? this.#end(slot) : undefined)));
  }

  /** Leaves a process in its host to the next gateway, where a turn goes on in it; else ends it. */
  async #leave(slot: Slot<P>): Promise<void> {
    const { process } = slot;
    if (process?.isAwaited !== true || slot.ending) return await this.#end(slot);
    slot.ending = true;
    await process.child.host?.leave();
  }

  async #end(slot: Slot<P>): Promise<void> {
    slot.ending = true;
    slot.cooling?.abort();
    await bestEffort(slot.ready.then((process) => process.child.end(endGraceMs)));
    this.#remove(slot);
  }
}

function isIdle({ leases, process }: Slot<PoolProcess>): boolean {
  return leases === 0 && process !== undefined && process.runningTurns === 0;
}

const crashedOften = new MillraceError("upstream_failed", "The agent's program has crashed several times.", {
  hint: "`millrace doctor` shows how it ended. Start the agent by hand to see its messages.",
});

const longestMs = 60_000;

/** Shortest time between two starts of an agent's process, in ms, after so many failures in a row. Source: docs/dev/turn-machine.md. */
function restartPause(failures: number, firstMs: number): number {
  return failures <= 0 ? 0 : Math.min(longestMs, firstMs * 2 ** (failures - 1));
}
