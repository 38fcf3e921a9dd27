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

/** Every command in one API, every way with a command and with forms of paths. The names of commands with words behind them end in `…`. */
export function sampleCells(
  commands: readonly Attack[],
  paths: readonly Attack[],
  bare: readonly Attack[],
): readonly Cell[] {
  const [withWords, alone] = [true, false].map((ends) => commands.filter(({ name }) => name.endsWith("…") === ends));
  const grouped = inGroups(paths);
  return [
    ...paired(alone ?? [], direct, alone?.length ?? 0),
    ...paired(withWords ?? [], ways, Math.max(withWords?.length ?? 0, ways.length)),
    ...paired(grouped, ways, Math.max(grouped.length, ways.length)),
    ...paired(
      bare.filter((_, index) => index % together === 0),
      direct,
      Math.ceil(bare.length / together),
    ),
  ];
}

function inGroups(attacks: readonly Attack[]): readonly Attack[] {
  const starts = Array.from({ length: Math.ceil(attacks.length / together) }, (_, index) => index * together);
  return starts.map((start) => {
    const group = attacks.slice(start, start + together);
    return { name: group.map(({ name }) => name).join(", "), text: group.map(({ text }) => text).join("\n") };
  });
}
