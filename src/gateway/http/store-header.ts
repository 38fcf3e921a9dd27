/** The part of the gateway that knows the state of its store. */
export interface SaysItsStore {
  readonly storeState?: () => { readonly weaknesses?: readonly string[] };
}

/** The reasons why an answer may be lost although the store acknowledged it; undefined if there are none. */
export function storeHeader({ storeState }: SaysItsStore): string | undefined {
  return storeState?.().weaknesses?.join(", ") || undefined;
}
