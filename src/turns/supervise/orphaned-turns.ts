import type { StoreHousekeeping, TurnRecord } from "../../log/store.ts";

/** How often a process renews its lease; ms. */
export const renewEveryMs = 3_000;

interface Search {
  readonly self: string;
  readonly nowMs: number;
  readonly isLeft: (turn: TurnRecord) => boolean;
  readonly leftHere: boolean;
}

/**
 * Running turns whose process is gone: its lease has ended, or `isLeft` knows that the process ended. Turns of `self` run here,
 * unless some are `leftHere` and `isLeft` knows which: they are not even read otherwise.
 */
export async function orphanedTurns(
  store: Pick<StoreHousekeeping, "listRunning" | "owners">,
  { self, nowMs, isLeft, leftHere }: Search,
): Promise<readonly TurnRecord[]> {
  const open = await store.listRunning(leftHere ? {} : { exceptOwner: self });
  if (open.every((turn) => turn.owner === self && !isLeft(turn))) return [];
  const owners = await store.owners();
  const isOverdue = (owner: string) => owner !== self && (owners.get(owner) ?? 0) <= nowMs;
  return open.filter((turn) => isOverdue(turn.owner) || isLeft(turn));
}
