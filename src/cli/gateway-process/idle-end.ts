import { bestEffort } from "../../base/async.ts";
import type { Clock } from "../../base/clock.ts";
import type { Listener } from "../../gateway/http/listen.ts";
import type { GatewayRecord } from "./gateway-file.ts";
import type { Home } from "./home.ts";

/** How long a gateway that a command started lives without work; ms. */
export const defaultIdle = { idleMs: 10 * 60_000 };

/** A gateway, as far as its idleness is concerned. */
interface IdleGateway {
  readonly listening: Pick<Listener, "connections">;
  /** Whether a turn runs, or a prompt waits. */
  readonly isWorking: () => Promise<boolean>;
  readonly home: Pick<Home, "serves" | "stops">;
  readonly address: Pick<GatewayRecord, "url" | "socket">;
}

/**
 * Resolves once no client was connected and no turn ran for `idleMs`, or when the signal aborts. No command finds the gateway then. A
 * command that found it in the same moment has connected before, and is noticed: the gateway stays.
 */
export async function untilIdle(
  { listening, isWorking, home, address }: IdleGateway,
  clock: Clock,
  signal: AbortSignal,
  idleMs = defaultIdle.idleMs,
): Promise<void> {
  let seen = 0;
  let workedMs = clock.monotonic();
  /** Whether somebody was connected since the last look. */
  const isUsed = () => {
    const { open, ever } = listening.connections();
    const isNew = ever !== seen;
    seen = ever;
    return isNew || open > 0;
  };
  for (;;) {
    await bestEffort(clock.sleep(idleMs / 10, signal));
    if (signal.aborted) return;
    const isWorked = await isWorking();
    if (isUsed() || isWorked) workedMs = clock.monotonic();
    if (clock.monotonic() - workedMs < idleMs) continue;
    home.stops();
    if (!isUsed()) return;
    home.serves(address);
    workedMs = clock.monotonic();
  }
}
