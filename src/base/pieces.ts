/** A text in pieces of at most so many UTF-16 units, none of which ends inside of a character. */
export function* piecesOf(text: string, most: number): Generator<string, void> {
  for (let from = 0, to = 0; from < text.length; from = to) {
    to = from + most;
    const last = text.charCodeAt(to - 1);
    if (last >= 0xd800 && last < 0xdc00) to--;
    yield text.slice(from, to);
  }
}
