import { bestEffort } from "../../base/async.ts";
import type { Clock } from "../../base/clock.ts";

/** Why waiting for the next item ended the iteration. */
export class Silence extends Error {
  override readonly name = "Silence";
}

/**
 * Passes the items on. If none comes within `allowedMs()`, aborts `stop` and throws `Silence`. Time in which the consumer does not
 * ask is not counted. The inner iteration ends with this one.
 */
export async function* untilSilent<T>(
  items: AsyncIterable<T>,
  allowedMs: () => number,
  clock: Clock,
  stop: AbortController,
): AsyncGenerator<T, void> {
  const iterator = items[Symbol.asyncIterator]();
  let isSilent = false;
  try {
    for (;;) {
      const quiet = new AbortController();
      const silence = clock.sleep(allowedMs(), quiet.signal).then(
        () => "silent" as const,
        () => "moved" as const,
      );
      const next = iterator.next();
      const first = await Promise.race([next.then(() => "moved" as const), silence]).finally(() => quiet.abort());
      if (first === "silent") {
        isSilent = true;
        next.catch(() => undefined); // a late failure is of no interest
        throw new Silence("nothing came");
      }
      const { done, value } = await next;
      if (done === true) return;
      yield value;
    }
  } finally {
    stop.abort(); // first, so that the inner iteration stops waiting
    const ended = bestEffort(Promise.resolve(iterator.return?.()));
    if (!isSilent) await ended; // a silent source may never react to the request to stop
  }
}
