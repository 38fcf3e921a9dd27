import { visible, withoutMarks } from "./foreign-text.ts";

// Not `string-width`, which makes a segmenter as it loads: `statusline` runs at each prompt of a shell. `wrap-ansi` is built on it, and
// does not indent the lines that follow.

/** Made once it is needed: that takes ten milliseconds, and most texts are plain. */
let graphemes: Intl.Segmenter | undefined;
/** Letters of one column each: Latin, and the characters that tables and bars are drawn with. */
const plain = /^[\x20-\x7E\xA0-\xAC\xAE-\xFF\u2010-\u2027\u2500-\u259F]*$/;

/** Characters that no terminal shows: controls, joiners, marks on another letter, marks of style. */
const invisible = /^[\uFDD0-\uFDEF\p{Control}\p{Format}\p{Mark}\p{Surrogate}\p{Default_Ignorable_Code_Point}]+$/u;
/** Scripts whose letters take two columns, and the full-width forms of others. Source: Unicode UAX 11, East Asian Width. */
const wide =
  /^(?:[\p{Script=Han}\p{Script=Hangul}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Bopomofo}\p{Script=Yi}\u3000-\u303E\uFF01-\uFF60\uFFE0-\uFFE6]|\p{Emoji_Presentation}|.\uFE0F)/u;
/** Half-width forms of the scripts above. */
const narrow = /^[\uFF61-\uFFDC]/;
/** Marks of style, which take no room. */
const marks = /[\uFDD0-\uFDEF]+/g;

/** How many columns of a terminal a text takes: styling none, wide letters and emoji two. */
export function displayWidth(text: string): number {
  const shown = visible(withoutMarks(text));
  if (plain.test(shown)) return shown.length;
  return lettersOf(shown).reduce((width, letter) => width + widthOf(letter), 0);
}

/** The text with blanks after it, up to `width` columns. */
export function padEndTo(text: string, width: number): string {
  return text + " ".repeat(Math.max(0, width - displayWidth(text)));
}

/** The text with blanks before it, up to `width` columns. */
export function padStartTo(text: string, width: number): string {
  return " ".repeat(Math.max(0, width - displayWidth(text))) + text;
}

/** A text cut to `width` columns (1 at least); `…` replaces the rest, but for its marks of style. */
export function cutTo(text: string, width: number): string {
  if (displayWidth(text) <= width) return text;
  let cut = "";
  for (const letter of lettersOf(visible(text))) {
    if (displayWidth(cut + letter) >= width) break;
    cut += letter;
  }
  return `${cut}…${(visible(text).slice(cut.length).match(marks) ?? []).join("")}`;
}

/** The end of a text in `width` columns (1 at least), after `…`. For text without marks of style. */
export function cutStartTo(text: string, width: number): string {
  if (displayWidth(text) <= width) return text;
  let kept = "";
  for (const letter of lettersOf(visible(text)).toReversed()) {
    if (displayWidth(letter + kept) >= width) break;
    kept = letter + kept;
  }
  return `…${kept}`;
}

/**
 * A line in lines of at most `width` columns (1 at least), broken at blanks, and inside words that are longer. The lines after the
 * first are indented like it, as far as there is room. Styling continues over a break.
 */
export function wrapLine(line: string, width: number): readonly string[] {
  if (displayWidth(line) <= width) return [line];
  const lead = / */.exec(line)?.[0] ?? "";
  const indent = lead.slice(0, Math.max(0, Math.min(lead.length, width - 8)));
  const room = Math.max(1, width - indent.length);
  const lines: string[] = [];
  let current = "";
  const close = () => {
    lines.push(indent + current.trimEnd());
    current = "";
  };
  for (const word of line.slice(lead.length).split(/(?<= )(?! )/)) {
    if (current !== "" && displayWidth(current + word.trimEnd()) > room) close();
    for (const piece of piecesOf(word, room)) {
      if (current !== "" && displayWidth(current + piece.trimEnd()) > room) close();
      current += piece;
    }
  }
  if (displayWidth(current) > 0) close();
  else if (lines.length > 0) lines.push((lines.pop() ?? "") + current); // only styling is left
  return lines;
}

/** A letter that no text has, in place of a blank at which a line must not break. */
const unbreakable = "\uE000";

/**
 * Prose in lines of at most `width` columns. Commands in backquotes stay on one line where they fit, and lines below a label
 * (`  key    …`) begin where its text begins.
 */
export function wrapProse(text: string, width: number): readonly string[] {
  return text.split("\n").flatMap((line) => {
    if (displayWidth(line) <= width) return [line];
    const label = /^ *\S(?:.*?\S)? {2,}(?=\S)/.exec(line)?.[0] ?? "";
    const hasRoom = line
      .slice(label.length)
      .split(" ")
      .every((word) => displayWidth(word) <= width - displayWidth(label)); // an address that is broken cannot be copied
    const hang = displayWidth(label) <= width / 2 && hasRoom ? label : "";
    const kept = line
      .slice(hang.length)
      .replace(/`[^`]+`/g, (code) => (displayWidth(code) <= width / 2 ? code.replaceAll(" ", unbreakable) : code));
    const wrapped = wrapLine(kept, width - displayWidth(hang)).map((each) => each.replaceAll(unbreakable, " "));
    return wrapped.map((each, at) => (at === 0 ? hang : " ".repeat(displayWidth(hang))) + each);
  });
}

/** A whole word, or its letters if it is longer than a line. */
function piecesOf(word: string, room: number): readonly string[] {
  if (displayWidth(word.trimEnd()) <= room) return [word];
  const pieces: string[] = [];
  let at = 0;
  for (const { index, 0: style } of word.matchAll(marks)) {
    pieces.push(...lettersOf(word.slice(at, index)), style);
    at = index + style.length;
  }
  return [...pieces, ...lettersOf(word.slice(at))];
}

function lettersOf(text: string): readonly string[] {
  if (plain.test(text)) return text.split("");
  graphemes ??= new Intl.Segmenter(undefined, { granularity: "grapheme" });
  return Array.from(graphemes.segment(text), ({ segment }) => segment);
}

function widthOf(grapheme: string): number {
  if (invisible.test(grapheme)) return 0;
  return wide.test(grapheme) && !narrow.test(grapheme) ? 2 : 1;
}
