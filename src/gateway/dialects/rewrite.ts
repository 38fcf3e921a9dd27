/** Fewer characters than this in common are taken for chance. */
const trustedOverlap = 8;

/**
 * The text to send after `sent` when the answer turns out to be `text`, which does not continue `sent`. Sent text cannot be recalled,
 * so the end must be complete, and repeated text is better than missing text. The longest tail of `sent` that is also in `text` marks
 * the client's place; the text after it is sent. Without such a tail, everything after the common beginning is sent.
 */
export function afterRewrite(sent: string, text: string): string {
  const common = commonStart(sent, text).length;
  if (common === text.length) return ""; // cut short: all of it was sent
  const overlap = longestTailIn(sent, text, common);
  if (overlap === undefined) return text.slice(wholeCharacters(text, common));
  return text.slice(overlap.end);
}

/** The common beginning of two texts. */
export function commonStart(a: string, b: string): string {
  let length = 0;
  while (length < a.length && length < b.length && a[length] === b[length]) length++;
  return a.slice(0, length);
}

function longestTailIn(sent: string, text: string, from: number): { readonly end: number } | undefined {
  const find = (length: number) => text.indexOf(sent.slice(sent.length - length), Math.max(0, from - length + 1));
  let [low, high] = [0, Math.min(sent.length, text.length)];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (find(middle) >= 0) low = middle;
    else high = middle - 1;
  }
  return low >= Math.min(trustedOverlap, sent.length) && low > 0 ? { end: find(low) + low } : undefined;
}

/** Steps back where a cut would halve a surrogate pair. */
function wholeCharacters(text: string, at: number): number {
  const code = text.charCodeAt(at);
  return at > 0 && code >= 0xdc00 && code <= 0xdfff ? at - 1 : at;
}
