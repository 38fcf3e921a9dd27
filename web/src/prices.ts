import { createContext } from "preact";
import type { ModelsEnvelope } from "../../src/gateway/dashboard/inventory.ts";
import { type Credits, type Prices, priceOf } from "../../src/usage/prices.ts";
import { count } from "./words.ts";

export const PricesOfModels = createContext<Prices>(new Map());

export function pricesOf(models: ModelsEnvelope | undefined): Prices {
  return new Map(
    (models?.data ?? []).flatMap(({ uid, credit_multiplier, cost_tier }) => {
      const price = priceOf(cost_tier, credit_multiplier);
      return price === undefined ? [] : [[uid, price] as const];
    }),
  );
}

/** `4`, `~4` where it is estimated, `≥ ~4` where the price of some is not known. */
export function creditsInWords({ value, isEstimated, isPart }: Credits & { readonly isPart?: boolean }): string {
  return `${isPart === true ? "≥ " : ""}${isEstimated ? "~" : ""}${count(value)}`;
}
