import type { Clock } from "../../base/clock.ts";
import { isWithoutIde } from "../../base/errors.ts";
import { SharedCall } from "../../base/shared-call.ts";
import type { Ide, IdeFinder } from "../../ide/ide.ts";
import type { Models } from "../../models/model.ts";
import type { PromptServers } from "../serve/prompt-servers.ts";

/** How long an IDE that is starting is waited for, and how often it is looked for meanwhile; ms. */
const startsWithinMs = 5_000;
const lookEveryMs = 500;
/** After a search in vain no request waits again for this long; ms. */
const givenUpMs = 30_000;
/** An IDE whose process is younger than this may not have read its account yet; ms. */
const youngMs = 30_000;

/** Waits for an IDE that is starting, and for the program in use while it is away. All requests share one search. A row of docs/dev/turn-machine.md. */
export function startingIde(
  finder: Pick<IdeFinder, "find" | "invalidate">,
  clock: Clock,
  servers: Partial<Pick<PromptServers, "awaited">> = {},
) {
  const search = new SharedCall<void>();
  let gaveUpAtMs = Number.NEGATIVE_INFINITY;

  const isStarting = ({ signedIn, startedAtMs }: Pick<Ide, "signedIn" | "startedAtMs">) =>
    !signedIn && startedAtMs !== undefined && clock.now() - startedAtMs < youngMs;

  /** Until a new attempt may help (an IDE runs, and it did not just start without an account), or the time is over. */
  async function look(signal: AbortSignal): Promise<void> {
    const untilMs = clock.monotonic() + startsWithinMs;
    for (;;) {
      const result = await finder.find(signal);
      const isAwaited = servers.awaited?.(result) !== undefined;
      if (!isAwaited && !result.ides.every(isStarting)) return;
      finder.invalidate(); // the next look reads accounts anew
      if (clock.monotonic() >= untilMs) break;
      await clock.sleep(lookEveryMs, signal);
    }
    gaveUpAtMs = clock.monotonic();
  }

  /**
   * The result of `work`. If it finds no IDE, it runs once more as soon as an IDE is there, or at the end of the search: its error then
   * says how things are now, not how they were before the search. `work` must not send a prompt.
   */
  async function onceThere<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (!isWithoutIde(error) || clock.monotonic() - gaveUpAtMs < givenUpMs) throw error;
      await search.join(look, signal);
      return work();
    }
  }

  return {
    onceThere,
    /** The same models; a name waits for an IDE that is starting. */
    models: (models: Models): Models => ({
      nameOf: (uid) => models.nameOf(uid),
      list: (options, signal) => models.list(options, signal),
      resolve: (name, effort, signal) => onceThere(() => models.resolve(name, effort, signal), signal),
    }),
  };
}
