import type { TurnEventBody } from "../../log/event.ts";

/** Joins neighbouring deltas of one kind: events of one poll become as few as they can be. Pure. */
export function mergeDeltas(bodies: readonly TurnEventBody[]): readonly TurnEventBody[] {
  const merged: TurnEventBody[] = [];
  for (const body of bodies) {
    const last = merged.at(-1);
    const joined = last === undefined ? undefined : join(last, body);
    if (joined === undefined) merged.push(body);
    else merged[merged.length - 1] = joined;
  }
  return merged;
}

function join(a: TurnEventBody, b: TurnEventBody): TurnEventBody | undefined {
  if (a.type === "text" && b.type === "text") return { type: "text", delta: a.delta + b.delta };
  if (a.type === "thinking" && b.type === "thinking") return { type: "thinking", delta: a.delta + b.delta };
  if (a.type === "tool_call" && b.type === "tool_call" && a.callId === b.callId && !a.done) {
    return { ...b, argumentsDelta: a.argumentsDelta + b.argumentsDelta };
  }
  return undefined;
}
