import type { FinishReason, IdeToolNames, TurnEventBody } from "../log/event.ts";
import type { EventStage } from "./event-stage.ts";

export interface OutputLimits {
  /** Sequences that end the answer at their first occurrence; they are not part of it. Empty ones are ignored. */
  readonly stop: readonly string[];
  /** Of text, thinking and tool calls excluded, as `countTokens` counts. */
  readonly maxOutputTokens: number | undefined;
  /** Never more than one token a UTF-16 code unit, and never fewer for a longer text. */
  readonly countTokens: (text: string) => number;
}

/**
 * Ends an answer at its first stop sequence, wherever deltas are cut, or at its length limit; no part of a sequence is
 * passed on. The upstream's own end passes with its text held to the same limits. Undefined where nothing is limited.
 */
export function limitOutput(limits: OutputLimits): EventStage | undefined {
  const stop = limits.stop.filter((sequence) => sequence !== "");
  const max = limits.maxOutputTokens ?? Infinity;
  if (stop.length === 0 && max === Infinity) return undefined;
  let arrived = "";
  let passed = "";
  let over = false;
  let moved: true | undefined;

  /** Passes on the text that is certain now that `arrived` changed; `settled` when no more text will come. */
  const advance = (settled: boolean, ideTools?: IdeToolNames): TurnEventBody[] => {
    const searchFrom = arrived.startsWith(passed) ? passed.length : 0;
    const match = firstMatch(arrived, stop, searchFrom);
    const held = settled ? 0 : heldBack(arrived, stop);
    const wanted = match === undefined ? arrived.slice(0, arrived.length - held) : arrived.slice(0, match.at);
    const sayable = wanted.slice(0, lengthWithin(wanted, max, limits.countTokens));
    const events: TurnEventBody[] = [];
    if (!sayable.startsWith(passed)) events.push({ type: "rewritten", text: sayable, ...(moved && { moved }) });
    else if (sayable.length > passed.length) events.push({ type: "text", delta: sayable.slice(passed.length) });
    passed = sayable;
    const reason = sayable.length < wanted.length ? tooLong : match?.reason;
    if (reason === undefined) return events;
    over = true;
    return [...events, { type: "finished", reason, text: sayable, ...(ideTools === undefined ? {} : { ideTools }) }];
  };

  return {
    push(body) {
      if (over) return [];
      switch (body.type) {
        case "text":
          arrived += body.delta;
          return advance(false);
        case "rewritten":
          arrived = body.text;
          moved = body.moved;
          return advance(false);
        case "finished": {
          arrived = body.text;
          const events = advance(true, body.ideTools);
          return over ? events : [...events, body];
        }
        case "tool_call":
        case "failed":
        case "cancelled": {
          const events = advance(true);
          return over ? events : [...events, body];
        }
        case "started":
        case "thinking":
        case "usage":
          return [body];
        default:
          return body satisfies never;
      }
    },
  };
}

const tooLong: FinishReason = { unified: "length", raw: undefined };

function firstMatch(
  text: string,
  stop: readonly string[],
  from: number,
): { readonly at: number; readonly reason: FinishReason } | undefined {
  let first: { at: number; reason: FinishReason } | undefined;
  for (const sequence of stop) {
    const at = text.indexOf(sequence, from);
    if (at !== -1 && (first === undefined || at < first.at)) {
      first = { at, reason: { unified: "stop", raw: sequence } };
    }
  }
  return first;
}

/** How many characters at the end could be the beginning of a stop sequence. */
function heldBack(text: string, stop: readonly string[]): number {
  let held = 0;
  for (const sequence of stop) {
    for (let length = Math.min(sequence.length - 1, text.length); length > held; length--) {
      if (text.endsWith(sequence.slice(0, length))) held = length;
    }
  }
  return held;
}

/** The longest beginning, in code units, that costs at most `max` tokens; never half a surrogate pair. */
function lengthWithin(text: string, max: number, countTokens: (text: string) => number): number {
  if (text.length <= max || countTokens(text) <= max) return text.length;
  let fits = 0;
  let tooMany = text.length;
  while (tooMany - fits > 1) {
    const middle = Math.floor((fits + tooMany) / 2);
    if (countTokens(text.slice(0, middle)) <= max) fits = middle;
    else tooMany = middle;
  }
  const last = text.charCodeAt(fits - 1);
  return last >= 0xd800 && last <= 0xdbff ? fits - 1 : fits;
}
