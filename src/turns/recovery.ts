import type { LogStore, TurnRecord } from "../log/store.ts";

/** How often a process says that it lives, and how long that holds; ms. Others may take over what it runs after that. */
export const leaseMs = 10_000;
export const renewEveryMs = 3_000;

/**
 * Running turns whose process is gone: it says so no longer, or `isGone` knows. Turns of `self` are running here.
 */
export async function orphans(
  store: Pick<LogStore, "listRunning" | "owners">,
  self: string,
  nowMs: number,
  isGone: (owner: string) => boolean,
): Promise<readonly TurnRecord[]> {
  const open = await store.listRunning();
  if (open.every(({ owner }) => owner === self)) return [];
  const owners = await store.owners();
  return open.filter(({ owner }) => owner !== self && ((owners.get(owner) ?? 0) <= nowMs || isGone(owner)));
}
