import type { Attack } from "./texts.ts";
import { type Way, ways } from "./ways.ts";

/** A text, and the way in which it comes in. */
export interface Cell {
  readonly way: Way;
  readonly attack: Attack;
}

/** How many forms one text of the sample holds. */
const together = 6;
/** The ways that are one request of a client: every command meets one of them. */
const direct = ways.slice(0, 6);

/** Every text in every way. */
export function allCells(attacks: readonly Attack[]): readonly Cell[] {
  return ways.flatMap((way) => attacks.map((attack) => ({ way, attack })));
}

/** Each text with the next of the ways, so that every value of both stands in a cell. */
function paired(attacks: readonly Attack[], from: readonly Way[], count: number): readonly Cell[] {
  return Array.from({ length: attacks.length === 0 ? 0 : count }, (_, index) => ({
    attack: attacks[index % attacks.length],
    way: from[index % from.length],
  })).filter((cell): cell is Cell => cell.attack !== undefined && cell.way !== undefined);
}

/** Every command in one API, alone or with words behind it by turns; every way with a command that has forms of paths below it. */
export function sampleCells(
  commands: readonly Attack[],
  paths: readonly Attack[],
  bare: readonly Attack[],
): readonly Cell[] {
  const alone = commands.filter((_, index) => index % 4 === 0);
  const withWords = commands.filter((_, index) => index % 4 === 3);
  const grouped = inGroups(paths);
  const first = bare.filter((_, index) => index % together === 0);
  const count = Math.max(withWords.length, ways.length, grouped.length);
  const joined = Array.from({ length: count }, (_, index) => {
    return join(withWords[index % withWords.length], grouped[index % grouped.length]);
  });
  return [
    ...paired(alone, direct, alone.length),
    ...paired(joined, ways, count),
    ...paired(first, direct, first.length),
  ];
}

/** Each command of these, and each group of forms, in a way that is one request of a client. */
export function fewCells(commands: readonly Attack[], paths: readonly Attack[]): readonly Cell[] {
  const grouped = inGroups(paths);
  const joined = commands.map((command, index) => join(command, grouped[index % grouped.length]));
  return paired(joined, direct, Math.max(joined.length, direct.length));
}

function join(first: Attack | undefined, second: Attack | undefined): Attack {
  const both = [first, second].filter((attack) => attack !== undefined);
  return { name: both.map(({ name }) => name).join(" and "), text: both.map(({ text }) => text).join("\n") };
}

function inGroups(attacks: readonly Attack[]): readonly Attack[] {
  const starts = Array.from({ length: Math.ceil(attacks.length / together) }, (_, index) => index * together);
  return starts.map((start) => {
    const group = attacks.slice(start, start + together);
    return {
      name: `${group[0]?.name ?? ""} and ${group.length - 1} more`,
      text: group.map(({ text }) => text).join("\n"),
    };
  });
}
