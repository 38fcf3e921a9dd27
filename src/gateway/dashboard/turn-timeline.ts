import { startOfLog } from "../../base/ids.ts";
import type { TurnRecord } from "../../log/store.ts";
import type { WireEvent } from "../dialects/dialect.ts";
import type { Gateway } from "../http/context.ts";
import { encodeResumption, openTimelineEntry, timelineEntry } from "./turn-summary.ts";

/**
 * A turn's events as they come, to its end (`entry`), with its text while `showsText`, and each return of a client at the moment it
 * happens (`resumption`). If the client sealed the turn, an entry is the event's outline.
 */
export async function* turnTimeline(
  gateway: Pick<Gateway, "turns" | "events" | "meter" | "clock">,
  turn: Pick<TurnRecord, "turnId" | "sealed">,
  showsText: () => boolean,
  signal: AbortSignal,
): AsyncGenerator<WireEvent, void> {
  const { events, meter, clock } = gateway;
  let told = 0;
  let askedAtMs = Number.NEGATIVE_INFINITY;
  const resumptions = function* (): Generator<WireEvent, void> {
    askedAtMs = clock.now();
    const all = meter?.resumptions(turn.turnId) ?? [];
    for (const one of all.slice(told)) yield { name: "resumption", data: JSON.stringify(encodeResumption(one)) };
    told = Math.max(told, all.length);
  };
  let bell = Promise.withResolvers<"rung">();
  const unsubscribe = events.on("turn_resumed", ({ turnId }) => {
    if (turnId === turn.turnId) bell.resolve("rung");
  });
  const entries = entriesOf(gateway, turn, showsText, signal);
  try {
    yield* resumptions();
    let next = entries.next();
    for (;;) {
      const first = await Promise.race([next, bell.promise]);
      if (first === "rung") {
        bell = Promise.withResolvers();
        yield* resumptions();
        continue;
      }
      if (first.done === true) break;
      if (first.value.atMs >= askedAtMs) yield* resumptions(); // old entries come at once, so no client can come back between them
      yield { name: "entry", data: JSON.stringify(first.value.entry) };
      next = entries.next();
      next.catch(() => undefined); // the await above gets the failure; after the onlooker left it is of no interest
    }
    yield* resumptions();
  } finally {
    unsubscribe();
  }
}

async function* entriesOf(
  { turns }: Pick<Gateway, "turns">,
  { turnId, sealed }: Pick<TurnRecord, "turnId" | "sealed">,
  showsText: () => boolean,
  signal: AbortSignal,
): AsyncGenerator<{ readonly atMs: number; readonly entry: unknown }, void> {
  if (sealed === true) {
    for await (const event of turns.outline(turnId, startOfLog, signal))
      yield { atMs: event.atMs, entry: timelineEntry(event) };
  } else {
    for await (const event of turns.follow(turnId, startOfLog, signal))
      yield { atMs: event.atMs, entry: openTimelineEntry(event, showsText()) };
  }
}
