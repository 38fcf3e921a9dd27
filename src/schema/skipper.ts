import { endOfBlock } from "./skip-block.ts";

/** Decides which blocks of a bundle need not be parsed. */
export interface Skipper {
  /** The index of the `}` of the block that opens at `open`, if nothing in it concerns protobuf; undefined: parse it. */
  endOf(open: number): number | undefined;
}

/**
 * Words that stand in all generated code, since no minifier renames them.
 * Source: docs/wire/extension-bundle.md, "Generated code".
 */
const words = ["typeName", "newFieldList", "setEnumType", "makeEnum", "makeMessageType", "fileDesc", "no:"];

/** How many times its own length of a bundle is looked through for ends of blocks; a hostile one cannot make it more. */
const mostPasses = 6;

/** Notes where in `source` the words of generated code stand. */
export function createSkipper(source: string): Skipper {
  const places = placesOf(source);
  let left = source.length * mostPasses;
  let next = 0;

  return {
    endOf(open) {
      while (next > 0 && (places[next - 1] ?? 0) > open) next--;
      while ((places[next] ?? Number.POSITIVE_INFINITY) < open) next++;
      if (left <= 0) return undefined;
      const limit = Math.min(places[next] ?? source.length, open + left);
      const end = endOfBlock(source, open, limit);
      left -= (end ?? limit) - open;
      return end;
    },
  };
}

function placesOf(source: string): Float64Array {
  const places: number[] = [];
  for (const word of words) {
    for (let at = source.indexOf(word); at >= 0; at = source.indexOf(word, at + word.length)) places.push(at);
  }
  return Float64Array.from(places).sort();
}
