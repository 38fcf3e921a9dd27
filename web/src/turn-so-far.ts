import type { TimelineEntry, TurnDetail } from "./api.ts";

/** A running turn with the figures of the events that the page has read: the summary was read once, when the page opened. */
export function soFar(turn: TurnDetail, entries: readonly TimelineEntry[]): TurnDetail {
  const outputs = entries.filter(({ type }) => type === "text" || type === "thinking");
  const [first] = outputs;
  if (turn.status !== "running" || first === undefined) return turn;
  return {
    ...turn,
    characters: outputs.reduce((sum, { characters }) => sum + (characters ?? 0), 0),
    first_token_ms: turn.first_token_ms ?? Date.parse(first.at) - Date.parse(turn.created_at),
  };
}
