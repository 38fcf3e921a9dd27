import type { Clock } from "../../base/clock.ts";
import type { MillraceError } from "../../base/errors.ts";
import { slowStart } from "./errors.ts";

/** How long an agent is waited for that was not prompted yet: since it last wrote anything, and in all; ms. */
const silentMs = 10_000;
const longestMs = 60_000;

/** What an agent shows of itself while it starts. `heardMs`: when it last wrote anything, by the monotonic clock; `method`: the request without a reply. */
export interface AgentSigns {
  readonly name: string;
  heardMs(): number;
  method(): string;
}

/** Resolves with the error for the client once the agent was waited for long enough. Rejects with the signal's reason. */
export async function untilSlow(agent: AgentSigns, clock: Clock, signal: AbortSignal): Promise<MillraceError> {
  const beganMs = clock.monotonic();
  const lastMs = beganMs + longestMs;
  for (;;) {
    const quietMs = Math.max(beganMs, agent.heardMs()) + silentMs;
    const leftMs = Math.min(quietMs, lastMs) - clock.monotonic();
    if (leftMs <= 0) return slowStart(agent.name, agent.method(), { isSilent: quietMs < lastMs });
    await clock.sleep(leftMs, signal);
  }
}
