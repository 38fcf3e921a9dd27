/** After which bytes of an exchange it is cut. */
export interface Places {
  /** Those up to `bytes`, rising. */
  upTo(bytes: number): Iterable<number>;
}

/** Every `step`-th byte from `from` on; `onPlace` is told of each. */
export function everyByte(
  step: number,
  from = 0,
  onPlace: (afterBytes: number, of: number) => void = () => {},
): Places {
  return {
    *upTo(bytes) {
      for (let afterBytes = from; afterBytes <= bytes; afterBytes += step) {
        onPlace(afterBytes, bytes);
        yield afterBytes;
      }
    },
  };
}
