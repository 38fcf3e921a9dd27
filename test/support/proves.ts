import type { RequirementId } from "../requirements.ts";

/**
 * Says in a test which requirements it proves: `proves("chat.done-last")`. It does nothing at run time: the compiler holds
 * the ids, and `scripts/requirements.test.ts` fails for those that no test cites.
 */
export function proves(..._ids: readonly [RequirementId, ...RequirementId[]]): void {}
