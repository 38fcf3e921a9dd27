/** Describes for the user that the log was damaged when it was opened. `copy` is where its file is kept. */
export function describeDamage(copy: string): string {
  return `The store was damaged. Its file is kept as ${copy}, and a new log was begun. A request that is repeated under an earlier idempotency key may be asked once more.`;
}
