import { createContext } from "preact";
import type { ModelsEnvelope } from "../../src/gateway/dashboard/inventory.ts";
import type { SpendEnvelope } from "../../src/usage/envelope.ts";
import { count } from "./words.ts";

/** What one prompt to a model costs by the IDE's price list, in credits; undefined where the list does not say. By UID. */
export type Prices = ReadonlyMap<string, number>;

export const PricesOfModels = createContext<Prices>(new Map());

export function pricesOf(models: ModelsEnvelope | undefined): Prices {
  return new Map(
    (models?.data ?? []).flatMap(({ uid, credit_multiplier, cost_tier }) => {
      const price = cost_tier === "free" ? 0 : credit_multiplier;
      return price === null ? [] : [[uid, price] as const];
    }),
  );
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

/** `4`, `~4` where it is estimated. */
export function creditsInWords({ value, isEstimated }: Credits): string {
  return `${isEstimated ? "~" : ""}${count(value)}`;
}
