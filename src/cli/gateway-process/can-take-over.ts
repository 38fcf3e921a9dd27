import type { OpenBackends } from "../../backends/open-backend.ts";
import { startOfLog } from "../../base/ids.ts";
import type { CanTakeOver } from "../../turns/supervise/left-to-others.ts";
import { backendInUse } from "./health-details.ts";
import { machineOf } from "./owner.ts";

/**
 * Whether this gateway can continue a turn that another one left. A turn that has begun is in the IDE of its machine; a turn that has
 * not begun needs any IDE.
 */
export function canTakeOver(self: string, backends: Pick<OpenBackends, "chosen">): CanTakeOver {
  return async ({ owner, lastEventId }, signal) => {
    if (lastEventId !== startOfLog && machineOf(owner) !== machineOf(self)) return false;
    return (await backendInUse(backends, signal)).kind !== "none";
  };
}
