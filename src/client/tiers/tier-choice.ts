import { MillraceError } from "../../base/errors.ts";
import type { Tier } from "./tier.ts";

/**
 * An attach's evidence about its tier. `unreachable`: no gateway answered, so nothing is known of the tier. `failed`: the attach ended
 * before a welcome. `held_back`: no welcome came in time, as behind a proxy that buffers. `missing`: the other side does not know the
 * tier. `silent`: after the welcome nothing came, not even a sign of life.
 */
export type TierFinding = "welcomed" | "unreachable" | "failed" | "held_back" | "missing" | "silent";

/** How many attaches in a row may fail over a tier before the next tier is tried. */
const triesEach = 2;
/** How often a tier may fail while a later tier works, before it is dropped; one clear sign is enough. */
const lossesUntilLeft = 2;

/**
 * Chooses the tier of the next attach: the best one that is known to work, or not known to fail. A tier is dropped for the life of
 * this object in three cases: it failed and another one worked right after, it failed twice, or it failed once with a clear sign. One
 * for each gateway, shared by its streams. Source: docs/dev/wire/idempotent-streams.md, "Tiers".
 */
export class TierChoice {
  readonly #tiers: readonly Tier[];
  readonly #losses = new Map<Tier, number>();
  readonly #silences = new Map<Tier, number>();
  readonly #missing = new Set<Tier>();
  /** Tiers that have carried new events. */
  readonly #carried = new Set<Tier>();
  /** Failures since the last welcome. */
  readonly #failed = new Map<Tier, "failed" | "clearly">();
  #current: Tier;
  #tries = 0;
  #hasWorked = false;

  /** `tiers`: best first. Throws `invalid_request` for none. */
  constructor(tiers: readonly Tier[]) {
    const [best] = tiers;
    if (best === undefined) throw new MillraceError("invalid_request", "A stream needs at least one tier.");
    this.#tiers = tiers;
    this.#current = best;
  }

  get current(): Tier {
    return this.#current;
  }

  /**
   * Whether every tier counts as missing, because a server answered that knows none. Until a tier has worked, a failed tier counts
   * as missing if another one is missing: a server without HTTP/2 cannot say that it does not know a call over HTTP/2.
   */
  get allMissing(): boolean {
    const isUnknown = (tier: Tier) => this.#missing.has(tier) || (!this.#hasWorked && this.#failed.has(tier));
    return this.#missing.size > 0 && this.#tiers.every(isUnknown);
  }

  /** Whether any attach was ever welcomed. */
  get hasWorked(): boolean {
    return this.#hasWorked;
  }

  report(tier: Tier, finding: TierFinding): void {
    if (finding === "welcomed") return this.#welcomed(tier);
    if (finding === "unreachable") return;
    if (finding === "missing") this.#missing.add(tier);
    if (finding === "silent") {
      const silences = (this.#silences.get(tier) ?? 0) + 1;
      this.#silences.set(tier, silences);
      if (silences < triesEach) return;
    }
    const isClear = finding !== "failed";
    // A tier that carried events before is more likely slow for once than held back by a proxy.
    const isDoubtful = finding === "held_back" && this.#carried.has(tier);
    this.#failed.set(tier, isClear && !isDoubtful ? "clearly" : "failed");
    if (tier !== this.#current) return; // another stream has moved on already
    this.#tries++;
    if (!isClear && this.#tries < triesEach) return;
    this.#current = this.#after(tier);
    this.#tries = 0;
  }

  /** Something new came through the tier. */
  useful(tier: Tier): void {
    this.#carried.add(tier);
    this.#silences.delete(tier);
  }

  #welcomed(tier: Tier): void {
    for (const [other, how] of this.#failed) {
      if (this.#tiers.indexOf(other) >= this.#tiers.indexOf(tier)) continue;
      this.#losses.set(other, (this.#losses.get(other) ?? 0) + (how === "clearly" ? lossesUntilLeft : 1));
    }
    this.#hasWorked = true;
    this.#failed.clear();
    this.#missing.clear();
    this.#losses.delete(tier);
    this.#tries = 0;
    this.#current = this.#usable()[0] ?? tier;
  }

  #usable(): readonly Tier[] {
    return this.#tiers.filter((tier) => (this.#losses.get(tier) ?? 0) < lossesUntilLeft);
  }

  /** The next one in order; from the last one back to the best. */
  #after(tier: Tier): Tier {
    const usable = this.#usable();
    return usable[(usable.indexOf(tier) + 1) % usable.length] ?? tier;
  }
}
