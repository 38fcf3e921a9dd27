/** What an answer needs to know of a gateway's store. */
export interface SaysItsStore {
  readonly storeState?: () => { readonly weaknesses?: readonly string[] };
}

/** What may lose an answer although the store acknowledged it; undefined where nothing does. */
export function storeHeader({ storeState }: SaysItsStore): string | undefined {
  return storeState?.().weaknesses?.join(", ") || undefined;
}
