/**
 * A check that many ask for at once. Everybody gets the answer of a check that began after he asked; those who ask in the same turn
 * of the event loop, or while a check runs, share the next one.
 */
export function sharedCheck<T>(check: () => Promise<T>): () => Promise<T> {
  let running: Promise<unknown> = Promise.resolve();
  let next: Promise<T> | undefined;

  async function begin(): Promise<T> {
    await Promise.all([running, new Promise((resolve) => setImmediate(resolve))]);
    next = undefined;
    const mine = check();
    running = mine.catch(() => {});
    return mine;
  }

  return () => {
    next ??= begin();
    return next;
  };
}
