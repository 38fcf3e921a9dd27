const longestMs = 60_000;

/** Shortest time between two starts of an agent's process, in ms, after so many failures in a row. Source: docs/retries.md. */
export function restartPause(failures: number, firstMs: number): number {
  return failures <= 0 ? 0 : Math.min(longestMs, firstMs * 2 ** (failures - 1));
}
