import { writeJson } from "../base/json.ts";
import type { TurnEventBody } from "../log/event.ts";
import type { EventStage } from "./event-stage.ts";

type Call = TurnEventBody & { readonly type: "tool_call" };

/** Adds a log's events up. */
export function loggedAnswer(events: readonly TurnEventBody[]): {
  readonly text: string;
  readonly thinking: string;
  readonly calls: readonly Call[];
  readonly usage: string | undefined;
  readonly started: boolean;
} {
  let text = "";
  let thinking = "";
  let usage: string | undefined;
  let started = false;
  const calls: Call[] = [];
  for (const body of events) {
    if (body.type === "started") started = true;
    else if (body.type === "text") text += body.delta;
    else if (body.type === "thinking") thinking += body.delta;
    else if (body.type === "rewritten") text = body.text;
    else if (body.type === "usage") usage = usageKey(body);
    else if (body.type === "tool_call") calls.push(body);
  }
  return { text, thinking, calls, usage, started };
}

/**
 * Receives the answer from its start again, and passes on only the events that the log lacks. Text that the upstream changed meanwhile
 * becomes `rewritten`. A call comes whole, so those of the log are told by their number.
 */
export function reconcile(logged: ReturnType<typeof loggedAnswer>): EventStage {
  const text = textReconciler(logged.text);
  const thinking = thinkingReconciler(logged.thinking);
  let calls = 0;
  return {
    push(body) {
      switch (body.type) {
        case "started":
          return logged.started ? [] : [body];
        case "text":
        case "rewritten":
          return text.push(body);
        case "thinking":
          return thinking.push(body.delta);
        case "tool_call":
          return ++calls > logged.calls.length ? [body] : [];
        case "usage":
          return usageKey(body) === logged.usage ? [] : [body];
        case "finished":
          return [...text.settle(body.text), body];
        case "failed":
        case "cancelled":
          return [body];
        default:
          return body satisfies never;
      }
    },
  };
}

function textReconciler(logged: string) {
  /** How much of the logged text has come again. */
  let at = 0;
  let caughtUp = logged === "";
  /** Compares what came behind `at`. */
  const compare = (delta: string): readonly TurnEventBody[] => {
    const left = logged.length - at;
    if (delta.length < left && logged.startsWith(delta, at)) {
      at += delta.length;
      return [];
    }
    caughtUp = true;
    if (delta.length >= left && logged.endsWith(delta.slice(0, left)))
      return delta.length > left ? [{ type: "text", delta: delta.slice(left) }] : [];
    return [{ type: "rewritten", text: logged.slice(0, at) + delta }];
  };
  const compareWhole = (text: string) => {
    at = 0;
    return compare(text);
  };
  return {
    push(body: TurnEventBody & { readonly type: "text" | "rewritten" }): readonly TurnEventBody[] {
      if (caughtUp) return [body];
      return body.type === "text" ? compare(body.delta) : compareWhole(body.text);
    },
    /** The answer is over: a text that is still shorter than the log's will not grow any more. */
    settle(final: string): readonly TurnEventBody[] {
      if (caughtUp) return [];
      const events = compareWhole(final);
      if (caughtUp) return events;
      caughtUp = true;
      return [{ type: "rewritten", text: final }];
    },
  };
}

/** Thinking cannot be rewritten: only its length counts. */
function thinkingReconciler(logged: string) {
  let skip = logged.length;
  return {
    push(delta: string): readonly TurnEventBody[] {
      const rest = delta.slice(skip);
      skip = Math.max(0, skip - delta.length);
      return rest === "" ? [] : [{ type: "thinking", delta: rest }];
    },
  };
}

function usageKey(body: TurnEventBody & { readonly type: "usage" }): string {
  return writeJson(Object.entries(body).sort(([a], [b]) => (a < b ? -1 : 1)));
}
