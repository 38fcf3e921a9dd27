import type { Backends } from "../../backends/backend.ts";
import type { Clock } from "../../base/clock.ts";
import { isWithoutIde } from "../../base/errors.ts";
import { SharedCall } from "../../base/shared-call.ts";
import type { Ide, IdeFinder } from "../../ide/ide.ts";
import type { Models } from "../../models/model.ts";

/** How long an IDE that is starting is waited for, and how often it is looked for meanwhile; ms. */
const startsWithinMs = 5_000;
const lookEveryMs = 500;
/** After a search in vain no request waits again for this long; ms. */
const givenUpMs = 30_000;
/** An IDE whose process is younger than this may not have read its account yet; ms. */
const youngMs = 30_000;

/** Waits for an IDE that is starting. All requests share one search. A row of docs/retries.md. */
export class StartingIde {
  readonly #finder: Pick<IdeFinder, "find" | "invalidate">;
  readonly #clock: Clock;
  readonly #search = new SharedCall<void>();
  #gaveUpAtMs = Number.NEGATIVE_INFINITY;

  constructor(finder: Pick<IdeFinder, "find" | "invalidate">, clock: Clock) {
    this.#finder = finder;
    this.#clock = clock;
  }

  /**
   * The result of `work`. If it finds no IDE, it runs once more as soon as an IDE is there, or at the end of the search: its error then
   * says how things are now, not how they were before the search. `work` must not send a prompt.
   */
  async onceThere<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (!isWithoutIde(error) || this.#clock.monotonic() - this.#gaveUpAtMs < givenUpMs) throw error;
      await this.#search.join((shared) => this.#look(shared), signal);
      return work();
    }
  }

  /** The same models; a name waits for an IDE that is starting. */
  models(models: Models): Models {
    return {
      nameOf: (uid) => models.nameOf(uid),
      list: (options, signal) => models.list(options, signal),
      resolve: (name, effort, signal) => this.onceThere(() => models.resolve(name, effort, signal), signal),
    };
  }

  /** The same backends; a prompt waits for an IDE that is starting. */
  backends(backends: Backends): Backends {
    return {
      choose: (prompt, signal) => this.onceThere(() => backends.choose(prompt, signal), signal),
      holding: (begun, signal) => backends.holding(begun, signal),
    };
  }

  /** Until a new attempt may help (an IDE runs, and it did not just start without an account), or the time is over. */
  async #look(signal: AbortSignal): Promise<void> {
    const untilMs = this.#clock.monotonic() + startsWithinMs;
    for (;;) {
      const { ides } = await this.#finder.find(signal);
      const starting = ides.filter((ide) => this.#isStarting(ide));
      if (starting.length < ides.length) return;
      for (const ide of starting) this.#finder.invalidate(ide, "failed"); // the next look reads its account anew
      if (this.#clock.monotonic() >= untilMs) break;
      await this.#clock.sleep(lookEveryMs, signal);
    }
    this.#gaveUpAtMs = this.#clock.monotonic();
  }

  #isStarting({ signedIn, startedAtMs }: Pick<Ide, "signedIn" | "startedAtMs">): boolean {
    return !signedIn && startedAtMs !== undefined && this.#clock.now() - startedAtMs < youngMs;
  }
}
