import { bestEffort } from "../../base/async.ts";
import type { Clock } from "../../base/clock.ts";
import type { FallbackHistory } from "../history/fallback-history.ts";
import type { UsageHistory } from "../history/history.ts";
import type { SharedUsage, UsageNote } from "./shared-usage.ts";

/** How often the notes of the others are fetched; ms. A row of docs/retries.md. */
const followEveryMs = 1_000;
const notesAPage = 500;
/** The most notes that wait to be sent; the oldest are dropped first. */
const mostWaiting = 50_000;
/** How far back a start looks for turns that were not told; ms. */
const lookedBackMs = 7 * 86_400_000;

export interface SharingOptions {
  /** This machine's own: it holds the turns of all, and answers every question. */
  readonly history: FallbackHistory;
  readonly shared: SharedUsage;
  readonly clock: Clock;
}

export interface SharingHistory extends FallbackHistory {
  /** Fetches what the others have told until now. Throws `degraded` where they cannot be asked. */
  catchUp(): Promise<void>;
}

/**
 * A history of the turns of all gateways of a shared store. Each gateway sends its new entries to the others at once, and adds theirs to
 * its own history, so reading needs no connection. `heal` also fetches the others' entries.
 */
export function sharingHistory({ history, shared, clock }: SharingOptions): SharingHistory {
  const waiting: UsageNote[] = [];
  let cursor = "0";
  const tell = (notes: readonly UsageNote[]) => {
    waiting.push(...notes);
    waiting.splice(0, Math.max(0, waiting.length - mostWaiting));
    void bestEffort(catchUp()); // what fails is tried again by `follow`
  };

  /** The notes already in the shared list, during the first look at them. */
  let seen: Set<string> | undefined = new Set();

  async function exchange(): Promise<void> {
    for (;;) {
      const told = waiting.slice(0, notesAPage);
      if (told.length > 0) {
        await shared.add(told);
        waiting.splice(0, told.length); // only now: what was not taken waits on
      }
      const next = await shared.after(cursor, notesAPage);
      history.addTurns(next.notes.flatMap(({ turn }) => turn ?? []));
      for (const { turn, calls } of next.notes) {
        if (calls !== undefined) history.addToolCalls(calls);
        if (turn !== undefined) seen?.add(turn.turnId);
      }
      ({ cursor } = next);
      if (next.notes.length < notesAPage && waiting.length === 0) return;
    }
  }

  /** One exchange at a time. A caller that comes while one runs gets the next one, which has all that was sent meanwhile. */
  let running: Promise<void> = Promise.resolve();
  let next: Promise<void> | undefined;
  function catchUp(): Promise<void> {
    next ??= bestEffort(running).then(() => {
      next = undefined;
      running = exchange();
      return running;
    });
    return next;
  }

  /** Sends the entries that an earlier run of this gateway recorded but could not send. */
  async function tellWhatIsMissing(): Promise<void> {
    await catchUp();
    const untilMs = clock.now() + 1;
    const own = history.turns({ sinceMs: untilMs - lookedBackMs, untilMs, limit: mostWaiting });
    const untold = own.filter(({ turnId }) => seen?.has(turnId) === false);
    tell(untold.map(({ planWindow: _window, planBefore: _before, planAfter: _after, ...turn }) => ({ turn })));
    seen = undefined;
  }

  async function follow(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await bestEffort(seen === undefined ? catchUp() : tellWhatIsMissing()); // what fails is tried again
      await bestEffort(clock.sleep(followEveryMs, signal));
    }
    await bestEffort(catchUp()); // what ended last
  }

  const sharing: Partial<UsageHistory> & Pick<SharingHistory, "heal" | "close" | "catchUp"> = {
    catchUp,
    addTurn(turn) {
      const isNew = history.addTurn(turn);
      if (isNew) tell([{ turn }]);
      return isNew;
    },
    addTurns(turns) {
      const areNew = history.addTurns(turns);
      tell(turns.filter((_, i) => areNew[i] === true).map((turn) => ({ turn })));
      return areNew;
    },
    addToolCalls(calls) {
      history.addToolCalls(calls);
      tell([{ calls }]);
    },
    heal: async (signal) => void (await Promise.all([history.heal(signal), follow(signal)])),
    close() {
      void bestEffort(shared.close());
      history.close();
    },
  };
  return Object.assign(Object.create(history) as FallbackHistory, sharing); // all else is the history's own
}
