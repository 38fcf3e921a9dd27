import type { RowFilter, TurnRow } from "./medium.ts";

/** Whether a row passes the filter, its limit apart. An erased row never does. */
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
