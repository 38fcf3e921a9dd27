import { AsyncLocalStorage } from "node:async_hooks";

/** One step that was let happen. */
export interface Step {
  readonly actor: string;
  readonly name: string;
}

interface WaitingStep extends Step {
  readonly lane: string;
  readonly go: () => void;
}

interface Choice {
  readonly picked: number;
  readonly options: number;
}

const actors = new AsyncLocalStorage<string>();

/**
 * One run in which every step waits until it is picked. The steps of one actor in one lane happen in their order. By default
 * the run continues with the same actor, and then with the actor that waits longest. Picking another actor costs one of
 * `delays` for each actor that is passed over. `prefix` lists the picks of a run.
 *
 * All runs with a few delays are far fewer than all runs, and nearly every mistake of order shows in one of them.
 * Source: delay-bounded scheduling (Emmi, Qadeer, Rakamaric, POPL 2011).
 */
export class Schedule {
  readonly trace: Step[] = [];
  readonly choices: Choice[] = [];
  readonly #prefix: readonly number[];
  #delays: number;
  #waiting: WaitingStep[] = [];
  #working = 0;
  #at = "";
  #free = false;

  constructor(prefix: readonly number[], delays: number) {
    this.#prefix = prefix;
    this.#delays = delays;
  }

  /** The participant that the running code works for. */
  get actor(): string {
    return actors.getStore() ?? "";
  }

  /** Runs for this actor: it, and all that follows from it. */
  as<T>(actor: string, work: () => T): T {
    return actors.run(actor, work);
  }

  /** Resolves once this step is picked. */
  step(name: string, lane: string, actor = this.actor): Promise<void> {
    if (this.#free) return Promise.resolve();
    return new Promise((go) => this.#waiting.push({ actor, name, lane, go }));
  }

  /** Work that ends without a pick; nothing else is picked before its end. */
  async during<T>(work: Promise<T>): Promise<T> {
    this.#working++;
    try {
      return await work;
    } finally {
      this.#working--;
    }
  }

  /** Picks until no step waits. */
  async run(): Promise<void> {
    for (;;) {
      await this.#settled();
      const options = this.#options();
      const picked = this.#prefix[this.choices.length] ?? 0;
      const next = options[picked];
      if (next === undefined) {
        if (options.length > 0) throw new Error(`not the same run again: there is no ${picked} of ${options.length}`);
        return;
      }
      this.choices.push({ picked, options: options.length });
      this.#delays -= picked;
      this.#at = next.actor;
      this.trace.push({ actor: next.actor, name: next.name });
      this.#waiting = this.#waiting.filter((waiting) => waiting !== next);
      next.go();
    }
  }

  /** From here every step happens at once. */
  release(): void {
    this.#free = true;
    for (const { go } of this.#waiting) go();
    this.#waiting = [];
  }

  /** The first step of every lane, the current actor's first; as many as the delays that are left, and one more. */
  #options(): readonly WaitingStep[] {
    const first = this.#waiting.filter(
      (step, at) => this.#waiting.findIndex(({ actor, lane }) => actor === step.actor && lane === step.lane) === at,
    );
    const own = first.filter(({ actor }) => actor === this.#at);
    return [...own, ...first.filter((step) => !own.includes(step))].slice(0, this.#delays + 1);
  }

  async #settled(): Promise<void> {
    do await new Promise((resolve) => setImmediate(resolve));
    while (this.#working > 0);
  }
}

/**
 * Every schedule with at most `delays` delays, depth first. `run` is called with each, lets it pick to its end, and throws on a wrong
 * result. The error then names the steps that led there. Returns the number of schedules.
 */
export async function everySchedule(delays: number, run: (schedule: Schedule) => Promise<void>): Promise<number> {
  let prefix: readonly number[] | undefined = [];
  let schedules = 0;
  while (prefix !== undefined) {
    const schedule: Schedule = new Schedule(prefix, delays);
    try {
      await run(schedule);
    } catch (error) {
      const steps = schedule.trace.map(({ actor, name }) => `${actor} ${name}`).join("\n");
      throw new Error(`after ${schedules} schedules, this one is wrong:\n${steps}`, { cause: error });
    }
    schedules++;
    prefix = following(schedule.choices);
  }
  return schedules;
}

function following(choices: readonly Choice[]): readonly number[] | undefined {
  const last = choices.findLastIndex(({ picked, options }) => picked + 1 < options);
  if (last < 0) return undefined;
  return choices.slice(0, last + 1).map(({ picked }, at) => (at === last ? picked + 1 : picked));
}
