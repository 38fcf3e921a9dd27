/** So many letters of a block find the places where it may stand. */
const anchorLength = 8;

/** Steps of all comparisons of one search, so that a text made for it does not take long; past them every block counts as found. */
const mostSteps = 4_000_000;

const base = 0x0100_0193;

interface Anchor {
  /** Which block, and where in it. */
  readonly block: number;
  readonly offset: number;
}

/** Letters that may be other ones: one in a short block, two in a longer one. */
function mostOther(block: Uint8Array): number {
  return block.length < 48 ? 1 : 2;
}

/**
 * The blocks that stand in one of the texts but for a letter or two that is missing, added or another one; digits have to be the same. A block of
 * n + 1 pieces has a whole one after n changes, and the first letters of each piece are looked for in one pass over the text.
 */
export function alikeIn(texts: readonly Uint8Array[], blocks: readonly Uint8Array[]): ReadonlySet<number> {
  const found = new Set<number>();
  const anchors = anchorsOf(blocks);
  const isAnchor = new Uint8Array(0x1_0000);
  for (const hash of anchors.keys()) isAnchor[hash & 0xffff] = 1;
  let first = 1;
  for (let i = 0; i < anchorLength; i++) first = Math.imul(first, base);
  const steps = { left: mostSteps };
  for (const text of texts) {
    let hash = 0;
    for (let at = 0; at < text.length && found.size < blocks.length; at++) {
      hash = (Math.imul(hash, base) + (text[at] ?? 0)) | 0;
      if (at >= anchorLength) hash = (hash - Math.imul(first, text[at - anchorLength] ?? 0)) | 0;
      if (isAnchor[hash & 0xffff] === 0 || at < anchorLength - 1) continue;
      for (const { block, offset } of anchors.get(hash) ?? []) {
        const wanted = blocks[block] ?? new Uint8Array();
        if (!found.has(block) && standsAt(text, at - anchorLength + 1, wanted, { offset, steps })) found.add(block);
      }
      if (steps.left < 0) return new Set(blocks.keys());
    }
  }
  return found;
}

function anchorsOf(blocks: readonly Uint8Array[]): Map<number, Anchor[]> {
  const anchors = new Map<number, Anchor[]>();
  for (const [block, letters] of blocks.entries()) {
    const pieces = mostOther(letters) + 1;
    for (let piece = 0; piece < pieces; piece++) {
      const offset = Math.floor((letters.length * piece) / pieces);
      let hash = 0;
      for (const letter of letters.subarray(offset, offset + anchorLength)) hash = (Math.imul(hash, base) + letter) | 0;
      anchors.set(hash, [...(anchors.get(hash) ?? []), { block, offset }]);
    }
  }
  return anchors;
}

interface Steps {
  left: number;
}

/** Whether the block stands in the text where its letter at `offset` is the one at `at`. */
function standsAt(
  text: Uint8Array,
  at: number,
  block: Uint8Array,
  { offset, steps }: { readonly offset: number; readonly steps: Steps },
): boolean {
  const most = mostOther(block);
  for (let before = 0; before <= most; before++) {
    const isBefore = fits({ text, block, by: -1, steps }, at - 1, offset - 1, before);
    if (isBefore) return fits({ text, block, by: 1, steps }, at, offset, most - before);
  }
  return false;
}

/** Whether the rest of the block stands there with at most so many changes. */
function fits(
  walk: {
    readonly text: Uint8Array;
    readonly block: Uint8Array;
    /** 1 to the end of the block, -1 to its start. */
    readonly by: 1 | -1;
    readonly steps: Steps;
  },
  textFrom: number,
  blockFrom: number,
  changes: number,
): boolean {
  const { text, block, by, steps } = walk;
  let [t, b] = [textFrom, blockFrom];
  while (b >= 0 && b < block.length && text[t] === block[b]) {
    t += by;
    b += by;
  }
  steps.left -= Math.abs(b - blockFrom) + 1;
  if (b < 0 || b >= block.length) return true;
  if (changes === 0 || steps.left < 0) return false;
  const [there, wanted] = [text[t], block[b]];
  const mayChange = !isDigit(there);
  const mayDrop = !isDigit(wanted);
  return (
    (mayChange && mayDrop && fits(walk, t + by, b + by, changes - 1)) ||
    (mayDrop && fits(walk, t, b + by, changes - 1)) ||
    (mayChange && fits(walk, t + by, b, changes - 1))
  );
}

function isDigit(code: number | undefined): boolean {
  return code !== undefined && code >= 0x30 && code <= 0x39;
}
