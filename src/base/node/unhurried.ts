import { setImmediate as nextTurn } from "node:timers/promises";

/** How many items are worked on before other work has its turn. */
const atOnce = 32;

/** The items one by one, with a turn of the event loop for other work after every 32: for all that goes through many rows. */
export async function* unhurried<T>(items: Iterable<T>): AsyncGenerator<T, void> {
  let count = 0;
  for (const item of items) {
    if (++count % atOnce === 0) await nextTurn();
    yield item;
  }
}
