/** Fewer characters than this in common are taken for chance. */
const trustedOverlap = 8;

/**
 * What to send after `sent` when the text turns out to be `text`, which does not continue it. Nothing sent can be
 * recalled, so the rule is: the end is complete, and rather something twice than something missing. The longest tail of
 * `sent` that also stands in `text` says where the client is; what follows it there is sent. Without such a tail,
 * everything after the common beginning is sent.
 */
export function afterRewrite(sent: string, text: string): string {
  const common = commonStart(sent, text).length;
  if (common === text.length) return ""; // cut short: all of it was sent
  const overlap = longestTailIn(sent, text, common);
  if (overlap === undefined) return text.slice(wholeCharacters(text, common));
  return text.slice(overlap.end);
}

/** What two texts have in common from their beginning. */
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
