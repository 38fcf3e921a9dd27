import type { SpendEnvelope } from "./envelope.ts";

/** What one prompt to a model costs by the IDE's price list, in credits; undefined where the list does not say. By UID. */
export type Prices = ReadonlyMap<string, number>;

/** A model's price in credits; undefined where the list does not say. */
export function priceOf(tier: string | null | undefined, multiplier: number | null | undefined): number | undefined {
  return tier === "free" ? 0 : (multiplier ?? undefined);
}

/** Credits, and whether they come from the price list because the IDE reported none. */
export interface Credits {
  readonly value: number;
  readonly isEstimated: boolean;
}

/** What a turn cost: as reported, else by the price list. Nothing is estimated of one that failed: its prompt may not have counted. */
export function creditsOf(
  turn: { readonly model: string; readonly status: string; readonly credits: number | null },
  prices: Prices,
): Credits | undefined {
  if (turn.credits !== null) return { value: turn.credits, isEstimated: false };
  const price = turn.status === "failed" ? undefined : prices.get(turn.model);
  return price === undefined ? undefined : { value: price, isEstimated: true };
}

/** What the turns of one model cost: those whose credits the IDE did not report by the price list. */
export function creditsOfModel(spend: SpendEnvelope, prices: Prices): Credits | undefined {
  const unknown = Math.max(0, spend.turns - spend.failed - spend.credits_known_turns);
  const price = prices.get(spend.key ?? "");
  if (unknown === 0 || price === undefined)
    return spend.credits_known_turns === 0 ? undefined : { value: spend.credits, isEstimated: false };
  return { value: spend.credits + unknown * price, isEstimated: true };
}

/** What the turns of several models cost; `isPart` where the price of some is not known. */
export function creditsOfModels(
  spends: readonly SpendEnvelope[],
  prices: Prices,
): (Credits & { readonly isPart: boolean }) | undefined {
  const known = spends.flatMap((spend) => creditsOfModel(spend, prices) ?? []);
  if (known.length === 0) return undefined;
  return {
    value: known.reduce((sum, { value }) => sum + value, 0),
    isEstimated: known.some(({ isEstimated }) => isEstimated),
    isPart: known.length < spends.length,
  };
}
