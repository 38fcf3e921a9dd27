import type { RowFilter, TurnRow } from "./medium.ts";

/** Whether a row is one of those that the filter asks for, its limit apart. What is erased never is. */
export function passes(row: TurnRow, filter: RowFilter): boolean {
  const { open, exceptOwner, caller, matchIndex, sessionIndex, keyIndex } = filter;
  return (
    row.erasedAtMs === undefined &&
    (open === undefined || (row.outcome === undefined) === open) &&
    (exceptOwner === undefined || row.owner !== exceptOwner) &&
    (caller === undefined || row.caller === caller) &&
    (matchIndex === undefined || row.matchIndex === matchIndex) &&
    (sessionIndex === undefined || row.sessionIndex === sessionIndex) &&
    (keyIndex === undefined || row.keyIndex === keyIndex)
  );
}
