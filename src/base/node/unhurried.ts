/** Turns of the event loop between two that work takes for itself: a small request is read, answered and written in fewer. */
const turnsBetween = 8;

const waiting: (() => void)[] = [];
/** Turns of the event loop that others still have to themselves. */
let leftToOthers = 0;
let isCounting = false;

/**
 * Resolves in a later turn of the event loop, which no other caller gets: for work that takes milliseconds. Callers go on in their order, with turns
 * for everything else in between. `setImmediate` alone would let all of them go on in the same turn, and everything else wait for their sum.
 */
export function ownTurn(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve);
    if (isCounting) return;
    isCounting = true;
    setImmediate(count);
  });
}

function count(): void {
  if (leftToOthers > 0) leftToOthers--;
  else {
    waiting.shift()?.();
    leftToOthers = turnsBetween;
  }
  isCounting = waiting.length > 0 || leftToOthers > 0;
  if (isCounting) setImmediate(count);
}

/** How many items are worked on before other work has its turn. */
const atOnce = 32;

/** The items one by one, with a turn of the event loop for other work after every 32: for all that goes through many rows. */
export async function* unhurried<T>(items: Iterable<T>): AsyncGenerator<T, void> {
  let count = 0;
  for (const item of items) {
    if (++count % atOnce === 0) await ownTurn();
    yield item;
  }
}
