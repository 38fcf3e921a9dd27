import { timeLimit } from "../base/async.ts";
import type { Clock } from "../base/clock.ts";
import { MillraceError } from "../base/errors.ts";
import type { LiveTurn } from "./live-turn.ts";
import { type Row, type Rows, untilRow } from "./rows.ts";
import { metaOf } from "./turn-row.ts";

/** How often a reader looks whether the home of its turn lives, and how soon a watch that failed is begun again; ms. */
const lookEveryMs = 20_000;
const againMs = 5_000;

/** Waits for news of a turn that another home runs, and looks now and then whether that home lives: `look` ends the turn if it does not. */
export async function untilNews<T>(
  wait: (signal: AbortSignal) => Promise<T>,
  look: () => Promise<unknown>,
  signal: AbortSignal,
): Promise<T> {
  for (;;) {
    await look();
    const soon = timeLimit(lookEveryMs);
    try {
      return await wait(AbortSignal.any([signal, soon]));
    } catch (error) {
      if (!soon.aborted || signal.aborted) throw error;
    }
  }
}

/** The result of `look`. An error of the store only delays it: it is begun again, until the signal aborts. */
export async function lookAgain<T>(look: () => Promise<T>, clock: Clock, signal: AbortSignal): Promise<T> {
  for (;;) {
    try {
      return await look();
    } catch {
      await clock.sleep(againMs, signal);
    }
  }
}

/** Throws, and closes the rows, where the others seal their turns with another key: each would take the other's turns for unknown. */
export async function refuseOtherKey(rows: Rows, checkValue: string): Promise<void> {
  if (rows.shared === undefined || (await rows.shared.agreesOnKey(checkValue))) return;
  await rows.close();
  throw new MillraceError("invalid_request", "The turns of this Redis server are sealed with another log key.", {
    hint: "Copy the file `log-key` of the gateways that use it to this machine (MILLRACE_LOG_KEY_FILE), or use another Redis server.",
  });
}

/** Says that this home lives. If it counted as gone, as after a suspend, others may have ended its turns: a runner that appends nothing would not notice. */
export async function renewHome(rows: Rows, home: string | undefined, turns: readonly LiveTurn[]): Promise<void> {
  if (rows.shared === undefined || home === undefined || (await rows.shared.renewHome(home))) return;
  for (const live of turns) {
    if (!live.isKnown || live.isDegraded || live.hasEnded) continue;
    const row = await rows.get(live.turnId);
    if (row !== undefined && row.epoch !== live.epoch) live.lose("fenced"); // without it the server has lost all
  }
}

/** Tells a turn of this process that another gateway asked for its cancel. */
export async function hearCancel(rows: () => Rows, live: LiveTurn, clock: Clock, signal: AbortSignal): Promise<void> {
  const isHeard = (row: Row | undefined) => row?.open !== true || metaOf(row).cancel !== undefined;
  const { turnId } = live;
  const row = await lookAgain(() => untilRow(rows(), turnId, isHeard, signal, `cancel:${turnId}`), clock, signal);
  const by = row && metaOf(row).cancel;
  if (by !== undefined) live.requestCancel(by);
}
