import { editDistance } from "../../models/nearest.ts";

/** The word that was probably meant; undefined where none is near. */
export function nearestWord(typed: string, words: readonly string[]): string | undefined {
  const most = Math.max(typed.length < 4 ? 1 : 2, Math.floor(typed.length / 3));
  return words
    .filter((word) => word[0] === typed[0]?.toLowerCase() && editDistance(typed.toLowerCase(), word) <= most)
    .toSorted((a, b) => editDistance(typed, a) - editDistance(typed, b))[0];
}

/** `312 KB`, `1.4 GB`; powers of 1000, as disks are sold. */
export function spellBytes(bytes: number): string {
  const units = ["bytes", "KB", "MB", "GB", "TB"];
  let value = bytes;
  let unit = 0;
  while (value >= 999.5 && unit < units.length - 1) {
    value /= 1000;
    unit++;
  }
  return `${unit === 0 || value >= 99.5 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`;
}

/** `1 turn`, `3 turns`. */
export function spellCount(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? "" : "s"}`;
}

/** `3 d 4 h`, `2 h 5 min`, `40 s`: the two largest units. */
export function spellAge(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  const [days, hours, minutes] = [
    Math.floor(seconds / 86_400),
    Math.floor(seconds / 3600) % 24,
    Math.floor(seconds / 60) % 60,
  ];
  if (days > 0) return `${days} d ${hours} h`;
  if (hours > 0) return `${hours} h ${minutes} min`;
  return minutes > 0 ? `${minutes} min` : `${seconds} s`;
}

/** A text in lines of at most `width` columns, broken at blanks; a longer word stays whole. The first line is indented by `first` columns, the rest by `rest`. */
export function spellLines(text: string, width: number, first: number, rest: number): readonly string[] {
  const lines: string[] = [];
  let line = " ".repeat(first);
  let isEmpty = true;
  for (const word of text.split(" ")) {
    if (!isEmpty && line.length + 1 + word.length > width) {
      lines.push(line);
      line = " ".repeat(rest);
      isEmpty = true;
    }
    line += isEmpty ? word : ` ${word}`;
    isEmpty = false;
  }
  return [...lines, line];
}
