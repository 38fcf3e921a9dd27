import type { FinishReason, IdeToolNames, TurnEventBody } from "../log/event.ts";
import type { EventStage } from "./event-stage.ts";

/**
 * Ends an answer at its first stop sequence, wherever deltas are cut, or at its length limit; no part of a sequence is
 * passed on. The upstream's own end passes with its text held to the same limits. Undefined where nothing is limited. Reads each character
 * once: the answer as a whole is read again only where a limit may be reached, and at the end.
 */
export function limitOutput(limits: {
  /** Sequences that end the answer at their first occurrence; they are not part of it. Empty ones are ignored. */
  readonly stop: readonly string[];
  /** Of text, thinking and tool calls excluded, as `countTokens` counts. */
  readonly maxOutputTokens: number | undefined;
  /**
   * Never more than one token a UTF-16 code unit, never fewer for a longer text, and for a text never more than for its parts together,
   * but for the rounding of their sum.
   */
  readonly countTokens: (text: string) => number;
}): EventStage | undefined {
  const stop = limits.stop.filter((sequence) => sequence !== "");
  const max = limits.maxOutputTokens ?? Infinity;
  if (stop.length === 0 && max === Infinity) return undefined;
  let passed = "";
  /** Arrived after `passed`: it may be the beginning of a sequence. */
  let pending = "";
  /** `passed` has no more tokens than this. */
  let mostTokens = 0;
  /** Text was taken back: what stands before its new end may be a sequence. */
  let readsAll = false;
  let over = false;
  let moved: true | undefined;

  /** Passes on the text of `arrived` that is certain now; `settled` when no more text will come. */
  const readWhole = (arrived: string, settled: boolean, ideTools?: IdeToolNames): TurnEventBody[] => {
    const searchFrom = arrived.startsWith(passed) ? passed.length : 0;
    const match = firstMatch(arrived, stop, searchFrom);
    const wanted = arrived.slice(0, match?.at ?? arrived.length - (settled ? 0 : heldBack(arrived.slice(searchFrom))));
    const sayable = wanted.slice(0, lengthWithin(wanted, max, limits.countTokens));
    const events: TurnEventBody[] = [];
    readsAll = !sayable.startsWith(passed);
    if (readsAll) events.push({ type: "rewritten", text: sayable, ...(moved && { moved }) });
    else if (sayable.length > passed.length) events.push({ type: "text", delta: sayable.slice(passed.length) });
    passed = sayable;
    pending = arrived.slice(passed.length);
    mostTokens = max === Infinity ? 0 : limits.countTokens(passed);
    const reason = sayable.length < wanted.length ? tooLong : match?.reason;
    if (reason === undefined) return events;
    over = true;
    return [...events, { type: "finished", reason, text: sayable, ...(ideTools === undefined ? {} : { ideTools }) }];
  };

  /** How many characters at the end could be the beginning of a stop sequence. */
  const heldBack = (text: string) => stop.reduce((most, sequence) => Math.max(most, beginningAtEnd(text, sequence)), 0);

  /** As `readWhole` for the text that has arrived, but reads only `delta` where no limit is near. */
  const advance = (delta: string, settled: boolean): TurnEventBody[] => {
    pending += delta;
    // a sequence that began in text that was passed on is none
    if (readsAll || stop.some((sequence) => pending.includes(sequence))) return readWhole(passed + pending, settled);
    const length = pending.length - (settled ? 0 : heldBack(pending));
    if (length === 0) return [];
    const text = pending.slice(0, length);
    if (max !== Infinity) mostTokens += limits.countTokens(text);
    if (mostTokens >= max) return readWhole(passed + pending, settled); // the sum may be a token off, as each part is rounded
    passed += text;
    pending = pending.slice(length);
    return [{ type: "text", delta: text }];
  };

  return {
    push(body) {
      if (over) return [];
      switch (body.type) {
        case "text":
          return advance(body.delta, false);
        case "rewritten":
          moved = body.moved;
          return readWhole(body.text, false);
        case "finished": {
          const events = readWhole(body.text, true, body.ideTools);
          return over ? events : [...events, body];
        }
        case "tool_call":
        case "failed":
        case "cancelled": {
          const events = advance("", true);
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

/** The length of the longest beginning of a sequence, but not all of it, that a text ends with. A sequence has at most 1,000 characters. */
function beginningAtEnd(text: string, sequence: string): number {
  const first = sequence.charAt(0);
  const from = Math.max(0, text.length - sequence.length + 1);
  for (let at = text.indexOf(first, from); at !== -1; at = text.indexOf(first, at + 1))
    if (sequence.startsWith(text.slice(at))) return text.length - at;
  return 0;
}

/** The longest beginning, in code units, that costs at most `max` tokens; never half a surrogate pair. */
function lengthWithin(text: string, max: number, countTokens: (text: string) => number): number {
  if (text.length <= max) return text.length;
  let fits = 0;
  let tooMany = text.length;
  let [below, above] = [max + 0.5, countTokens(text) - max - 0.5];
  if (above < 0) return text.length;
  // Tokens are spread about evenly, so their share finds the place in some steps (Illinois). Halving reads the text twenty times.
  for (let wasBelow: boolean | undefined; tooMany - fits > 1; ) {
    const share = Math.round(((tooMany - fits) * below) / (below + above));
    const at = Math.min(tooMany - 1, Math.max(fits + 1, fits + share));
    const left = max + 0.5 - countTokens(text.slice(0, at));
    const isBelow = left > 0;
    if (isBelow) [fits, below, above] = [at, left, wasBelow === true ? above / 2 : above];
    else [tooMany, above, below] = [at, -left, wasBelow === false ? below / 2 : below];
    wasBelow = isBelow;
  }
  const last = text.charCodeAt(fits - 1);
  return last >= 0xd800 && last <= 0xdbff ? fits - 1 : fits;
}
