import type { Clock } from "../../base/clock.ts";
import { readAll } from "../../log/read-all.ts";
import type { LogReads } from "../../log/store.ts";
import type { Asker, Continuity } from "./continuity.ts";
import { heldPart, visibleAnswer } from "./visible-history.ts";

/** How many of the newest turns are looked at, and how long after the start of this process; ms. No call waits longer. */
const lookedAt = 32;
const waitsMs = 20 * 60_000;

interface RecallOptions {
  readonly store: Pick<LogReads, "list" | "readAfter">;
  readonly continuity: Continuity;
  readonly clock: Clock;
  readonly ownerIsGone: (owner: string) => boolean;
}

/**
 * A function that looks in the log for the conversation of a request that ends with results, where it is not known here. An earlier
 * process may have left a prompt that waits for these results. It is then kept here, as if this process had ended its turn. Throws the
 * errors of the store.
 */
export function openRecall({ store, continuity, clock, ownerIsGone }: RecallOptions): (asker: Asker) => Promise<void> {
  const untilMs = clock.monotonic() + waitsMs;
  return async (asker) => {
    const { request, modelUid, caller, session } = asker;
    const held = heldPart(request, modelUid);
    if (held === undefined || request.messages.at(-1)?.role !== "tool" || clock.monotonic() > untilMs) return;
    if (continuity.knows(asker)) return;
    const recent = await store.list({ caller, ...(session === undefined ? {} : { session }), limit: lookedAt });
    for (const turn of recent) {
      const isEarlier = turn.outcome === "finished" && turn.request.messages.length + 1 === held.heldMessages;
      if (!isEarlier || turn.session !== session || !ownerIsGone(turn.owner)) continue;
      const events = await readAll(store, turn.turnId);
      const begun = events.find(({ type }) => type === "started");
      const end = events.at(-1);
      if (begun?.type !== "started" || begun.cascadeId === undefined || end?.type !== "finished") continue;
      const answer = visibleAnswer(events, end);
      if (!answer.waits || continuity.knows(asker)) continue;
      continuity.keep(turn, begun.cascadeId, answer);
      if (continuity.knows(asker)) return;
    }
  };
}
