/** Waits for what must come. A test that waits for ever fails by its timeout. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await idle();
}

/**
 * Resolves when no promise callback is left to run. Parts that use only memory and a fake clock can then do nothing more, so a
 * test can say what did not happen.
 */
export function idle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
