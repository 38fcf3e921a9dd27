import type { Ide } from "./ide.ts";

/** Which IDEs come and go, as far as scans show it. */
export interface IdeLifecycle {
  readonly ide_found: Ide;
  readonly ide_lost: Ide;
}
