import type { ErrorRecord } from "../../base/errors.ts";
import { startOfLog } from "../../base/ids.ts";
import type { TurnEventBody } from "../../log/event.ts";
import { eventIdOf, seqOf } from "../../log/event-id.ts";
import type { TurnReading, TurnRecord } from "../../log/store.ts";
import type { EventStage } from "../run/event-stage.ts";
import { type FailedSeries, failedAgain, type Reached, seriesMs } from "./repeats.ts";

/** How many bodies of streams are remembered at once. */
const rememberedBodies = 1_000;

/**
 * The failed turns of one body, from the log, so that a restart and another gateway on the same log know them too.
 * `turns`: the turns of one caller and one fingerprint, newest first. Undefined where the newest ended turn did not fail, or
 * failed too long ago.
 */
export async function failedSeries(
  store: Pick<TurnReading, "readAfter">,
  turns: readonly TurnRecord[],
  nowMs: number,
): Promise<FailedSeries | undefined> {
  const counted = turns.filter((turn) => turn.createdAtMs + seriesMs > nowMs && turn.outcome !== "cancelled");
  const finished = counted.findIndex(({ outcome }) => outcome === "finished");
  const since = finished === -1 ? counted : counted.slice(0, finished);
  const newest = since.find(({ outcome, sealed }) => outcome === "failed" && sealed !== true);
  if (newest === undefined) return undefined;
  const [last] = await eventsFrom(store, newest, seqOf(newest.lastEventId) - 1);
  if (last?.type !== "failed") return undefined;
  const first = await eventsFrom(store, newest, 0);
  return { error: last.error, reached: reachedBy(first), atMs: last.atMs, prompts: since.length };
}

async function eventsFrom(store: Pick<TurnReading, "readAfter">, { turnId }: TurnRecord, after: number) {
  const cursor = after <= 0 ? startOfLog : eventIdOf(after);
  return (await store.readAfter(turnId, cursor, { limit: 4 })).events;
}

function reachedBy(events: readonly TurnEventBody[]): Reached {
  return events.some(isPart) ? "a_part" : "nothing";
}

/** Whether the client sees a part of the answer in the event. */
function isPart({ type }: TurnEventBody): boolean {
  return type === "text" || type === "thinking" || type === "tool_call" || type === "rewritten";
}

/** Looks at the events of a body that failed before: a further failure is final where no prompt may follow it now. */
export function watchRepeat(earlier: FailedSeries, now: () => number): EventStage {
  let reached: Reached = "nothing";
  return {
    push: (event) => {
      if (isPart(event)) reached = "a_part";
      if (event.type !== "failed") return [event];
      return [{ ...event, error: failedAgain(event.error, earlier, reached, now()) }];
    },
  };
}

interface Remembered {
  error: ErrorRecord | undefined;
  reached: Reached;
  atMs: number;
  prompts: number;
}

/**
 * The failed turns of streams, by body. Two streams with the same body have different names, and only their clients can read
 * their logs, so the log cannot match them. Kept in memory: a restart forgets them.
 */
export class FailedBodies {
  readonly #now: () => number;
  readonly #byBody = new Map<string, Remembered>();

  /** `now`: epoch ms. */
  constructor(now: () => number) {
    this.#now = now;
  }

  seriesOf(body: string): FailedSeries | undefined {
    const known = this.#byBody.get(body);
    if (known?.error === undefined) return undefined;
    if (known.atMs + seriesMs <= this.#now()) {
      this.#byBody.delete(body);
      return undefined;
    }
    return { error: known.error, reached: known.reached, atMs: known.atMs, prompts: known.prompts };
  }

  /** Counts a turn that begins, and looks at its events on their way into its log. */
  watch(body: string): EventStage {
    const known = this.#byBody.get(body) ?? { error: undefined, reached: "nothing" as const, atMs: 0, prompts: 0 };
    known.prompts += 1;
    this.#byBody.delete(body);
    this.#byBody.set(body, known);
    const [oldest] = this.#byBody.keys();
    if (this.#byBody.size > rememberedBodies && oldest !== undefined) this.#byBody.delete(oldest);
    let reached: Reached = "nothing";
    return {
      push: (event) => {
        if (isPart(event)) reached = "a_part";
        if (event.type === "failed") Object.assign(known, { error: event.error, reached, atMs: this.#now() });
        if (event.type === "cancelled") known.prompts -= 1;
        if (event.type === "finished") this.#byBody.delete(body);
        return [event];
      },
    };
  }
}
