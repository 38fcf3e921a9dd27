import { bestEffort } from "../base/async.ts";
import type { Clock } from "../base/clock.ts";
import type { TurnId } from "../base/ids.ts";
import type { NewTurn } from "../log/store.ts";

/** How often to check, while turns wait, whether a pause is over or a limit has changed; ms. A row of docs/dev/turn-machine.md. */
const lookAgainMs = 1_000;
/** Where a turn stands in the queue: 1 is next. */
export interface QueuePlace {
  readonly position: number;
  readonly of: number;
}

export interface TurnLimits {
  /** How many turns may run at the same time in one IDE or agent; any number without it. May change. */
  readonly mostTurns?: (() => number | undefined) | undefined;
  /** Whether no prompt may be sent now. */
  readonly isPaused?: (() => boolean) | undefined;
}

/**
 * How far a turn has come: its prompt was not sent, may have been sent, or is being answered. `left`: an earlier process left it,
 * and its prompt was not sent.
 */
export type Stage = "new" | "left" | "asked" | "answered";

interface Waiter {
  readonly turn: Pick<NewTurn, "turnId" | "modelUid" | "graceMs" | "accepted">;
  readonly stage: Stage;
  readonly lane: string;
  readonly admit: () => void;
}

/**
 * Lets as many turns run as the limits allow; the others wait before their prompt is sent. A free place goes to the turn that came
 * first, of those that have a reader.
 */
export class TurnQueue {
  readonly #options;
  /** By age: ids of turns sort by their time, also those that an earlier process left. */
  #waiting: readonly Waiter[] = [];
  readonly #running = new Set<Waiter>();
  #looking = false;

  constructor(
    options: TurnLimits & {
      readonly clock: Clock;
      /** Whether the turn has a reader, or needs none. Any other turn keeps its place, and others may pass it. */
      readonly isWanted: (turn: Waiter["turn"]) => boolean;
    },
  ) {
    this.#options = options;
  }

  /** Undefined for a turn that does not wait. */
  placeOf(turnId: TurnId): QueuePlace | undefined {
    const index = this.#waiting.findIndex(({ turn }) => turn.turnId === turnId);
    return index < 0 ? undefined : { position: index + 1, of: this.#waiting.length };
  }

  get load(): { readonly running: number; readonly waiting: number } {
    return { running: this.#running.size, waiting: this.#waiting.length };
  }

  /**
   * Starts the waiting turns that now have a place, after a turn came or left. `newcomer`: a new turn is wanted, although its reading begins
   * later. One that an earlier process left waits for a reader: its client may have its answer, or have gone.
   */
  pump(newcomer?: Waiter): void {
    if (this.#waiting.length === 0) return;
    const { isPaused, mostTurns } = this.#options;
    const now = { isPaused: isPaused?.() === true, most: mostTurns?.() };
    for (const waiter of this.#waiting) {
      if (!this.#mayRun(waiter, now)) continue;
      if (!this.#isWanted(waiter) && !(waiter === newcomer && waiter.stage === "new")) continue;
      this.#running.add(waiter);
      waiter.admit();
    }
    this.#waiting = this.#waiting.filter((waiter) => !this.#running.has(waiter));
    if (this.#waiting.length > 0) void this.#pumpLater();
  }

  /** Resolves when the turn has its place, or the signal aborts; the returned function gives the place back. */
  async enter(turn: Waiter["turn"], stage: Stage, signal: AbortSignal): Promise<() => void> {
    const admitted = Promise.withResolvers<void>();
    const waiter: Waiter = { turn, stage, lane: laneOf(turn.modelUid), admit: admitted.resolve };
    const leave = () => {
      this.#waiting = this.#waiting.filter((other) => other !== waiter);
      this.#running.delete(waiter);
      this.pump();
    };
    if (signal.aborted) return leave;
    this.#waiting = [...this.#waiting, waiter].sort((a, b) => (a.turn.turnId < b.turn.turnId ? -1 : 1));
    this.pump(waiter);
    if (this.#running.has(waiter)) return leave;
    signal.addEventListener("abort", waiter.admit, { once: true });
    await admitted.promise;
    signal.removeEventListener("abort", waiter.admit);
    return leave;
  }

  #mayRun(
    { lane, stage }: Waiter,
    {
      isPaused,
      most,
    }: {
      readonly isPaused: boolean;
      readonly most: number | undefined;
    },
  ): boolean {
    if (stage === "answered") return true;
    if (isPaused) return false;
    if (stage === "asked" || most === undefined) return true; // asked: it runs upstream already
    return [...this.#running].filter((other) => other.lane === lane).length < most;
  }

  #isWanted({ turn, stage }: Waiter): boolean {
    if (stage === "asked" || stage === "answered") return true;
    return turn.accepted === true || this.#options.isWanted(turn);
  }

  /** Nobody says when a pause ends, or when a limit goes. */
  async #pumpLater(): Promise<void> {
    if (this.#looking) return;
    this.#looking = true;
    await bestEffort(this.#options.clock.sleep(lookAgainMs, never));
    this.#looking = false;
    this.pump();
  }
}

const never = new AbortController().signal;

/** Turns of one IDE or agent: `<agent>/<model>` names an agent, every other model is of the IDE that runs. */
function laneOf(modelUid: string): string {
  return modelUid.includes("/") ? (modelUid.split("/", 1)[0] ?? "") : "";
}
