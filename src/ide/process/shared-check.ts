/**
 * A check that many callers share. A caller gets the answer of a check that began after its call. Callers in the same turn
 * of the event loop, and callers while a check runs, share the next check.
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
