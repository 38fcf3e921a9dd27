import { createContext } from "preact";
import type { ModelsEnvelope } from "../../src/gateway/dashboard/inventory.ts";
import { priceOf } from "../../src/models/model.ts";
import { creditsInWords as spellCredits } from "../../src/usage/prices.ts";
import { count } from "./words.ts";

/** What one prompt to a model costs by the IDE's price list, in credits, by UID; without those whose price it does not say. */
export type Prices = ReadonlyMap<string, number>;

export const PricesOfModels = createContext<Prices>(new Map());

export function pricesOf(models: ModelsEnvelope | undefined): Prices {
  return new Map(
    (models?.data ?? []).flatMap(({ uid, credit_multiplier, cost_tier }) => {
      const price = priceOf({ costTier: cost_tier ?? undefined, creditMultiplier: credit_multiplier ?? undefined });
      return price === undefined ? [] : [[uid, price] as const];
    }),
  );
}

/** `~4`, with the reader's own separators. */
export const creditsInWords = (credits: Parameters<typeof spellCredits>[0]) => spellCredits(credits, count);
