/** How a stream waits between attaches: full jitter under a growing ceiling, and an end. */
export interface BackoffPolicy {
  /** Ceiling of the first wait, ms; it doubles with each further one. */
  readonly baseMs: number;
  /** Ceiling of every wait, ms. The gateway's Retry-After may be longer. */
  readonly capMs: number;
  /** Attaches in a row without a new event or acknowledgement before the stream gives up. */
  readonly budget: number;
}

/** About eight minutes in all. */
export const defaultBackoff: BackoffPolicy = { baseMs: 250, capMs: 15_000, budget: 60 };

/** How long silence is borne, apart from any retry budget: a connection's, before it is taken for dead, and an address's; ms. */
export interface Patience {
  /** Until the welcome, which the gateway sends at once. */
  readonly welcomeMs: number;
  /** Between two messages; the gateway sends one at least every 15 s. */
  readonly stallMs: number;
  /**
   * Until the first welcome over a link that never had one: most likely no gateway runs there, or it does not allow the page's origin. A wait
   * that the gateway asks for is not counted.
   */
  readonly reachMs: number;
}

export const defaultPatience: Patience = { welcomeMs: 6000, stallMs: 45_000, reachMs: 30_000 };

/** The ceiling of each wait before the first welcome, ms: a gateway that starts is found soon. */
export const firstWaitMs = 3000;

/** The longest wait that a gateway may ask for; with a longer one, the user would see a stream that never moves. */
const longestAskedMs = 300_000;

/**
 * Ms to wait before the next attach, after `fruitless` (from 1) attaches in a row that brought nothing; undefined when the budget
 * is spent. `random`: 0 to 1. `askedMs`: the gateway's Retry-After, which is a floor. Source: docs/dev/wire/idempotent-streams.md,
 * "Hazards".
 */
export function waitBefore(
  fruitless: number,
  policy: BackoffPolicy,
  random: () => number,
  askedMs = 0,
): number | undefined {
  if (fruitless > policy.budget) return undefined;
  const ceiling = Math.min(policy.capMs, policy.baseMs * 2 ** Math.min(fruitless - 1, 30));
  return Math.round(Math.min(longestAskedMs, askedMs) + random() * ceiling);
}
