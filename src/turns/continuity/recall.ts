import { isAwaited, longestCallMs } from "../../backends/backend.ts";
import type { Clock } from "../../base/clock.ts";
import { readAll } from "../../log/read-turn.ts";
import type { LogStore } from "../../log/store.ts";
import type { Asker, Continuity } from "./continuity.ts";
import { heldPart, historyAfter, isHeldIn, visibleAnswer, waits } from "./visible-history.ts";

/** How many of the newest turns are looked at: while one client runs a tool, others may begin hundreds of turns. */
const lookedAt = 1_024;

/**
 * A function that looks in the log for the conversation of a request that ends with results, where it is not known here. An earlier
 * process may have left a prompt that waits for these results. It is then registered here, so that the request can continue it. Throws the
 * errors of the store.
 */
export function openRecall({
  store,
  continuity,
  clock,
  owner,
}: {
  readonly store: Pick<LogStore, "list" | "get" | "readAfter" | "isEarlier">;
  readonly continuity: Continuity;
  readonly clock: Clock;
  /** This process. */
  readonly owner: string;
}): (asker: Asker) => Promise<void> {
  const untilMs = clock.monotonic() + longestCallMs; // an earlier process left no call that waits longer
  return async (asker) => {
    const { request, modelUid, caller, session } = asker;
    const held = heldPart(request, modelUid);
    const last = request.messages.at(-1);
    if (held === undefined || last?.role !== "tool" || !isAwaited(last.callId)) return;
    if (clock.monotonic() > untilMs || continuity.knows(asker)) return;
    const filter = { caller, ...(session === undefined ? {} : { session }) };
    for (const label of await store.list({ ...filter, limit: lookedAt })) {
      const isEarlier = label.outcome === "finished" && label.messageCount + 1 === held.heldMessages;
      if (!isEarlier || label.session !== session || !store.isEarlier(label.owner, owner)) continue;
      const turn = await store.get(label.turnId);
      if (turn === undefined) continue;
      const events = await readAll(store, turn.turnId);
      const begun = events.find(({ type }) => type === "started");
      const end = events.at(-1);
      if (begun?.type !== "started" || begun.cascadeId === undefined || end?.type !== "finished") continue;
      const answer = visibleAnswer(events, end);
      const history = historyAfter(turn.request, turn.modelUid, answer);
      const isIts = waits(end) && isHeldIn(held.history, history);
      if (!isIts || continuity.has(begun.cascadeId)) continue; // what is known of a trajectory here is newer than this turn
      continuity.keep(turn, begun.cascadeId, answer);
      return;
    }
  };
}
