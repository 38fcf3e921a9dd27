import * as fc from "fast-check";
import type { CascadeId, ModelUid } from "../../base/ids.ts";
import type { TurnEventBody } from "../../log/event.ts";

const toolNames = ["weather", "now", "apply_patch"] as const;
const word = fc.oneof(
  fc.string({ minLength: 1, maxLength: 12, unit: "grapheme" }),
  fc.constantFrom("a", "\n", "data: x\n\n", "[DONE]", "\u2028", '"', "🌊", "the cat sat on the mat. "),
);

type Op =
  | { readonly op: "text"; readonly delta: string }
  | { readonly op: "thinking"; readonly delta: string }
  | { readonly op: "rewrite"; readonly keep: number; readonly tail: string }
  | { readonly op: "call"; readonly call: number; readonly delta: string }
  | { readonly op: "usage"; readonly tokens: number };

const op: fc.Arbitrary<Op> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ op: fc.constant("text" as const), delta: word }) },
  { weight: 3, arbitrary: fc.record({ op: fc.constant("thinking" as const), delta: word }) },
  {
    weight: 1,
    arbitrary: fc.record({
      op: fc.constant("rewrite" as const),
      keep: fc.double({ min: 0, max: 1, noNaN: true }),
      tail: word,
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      op: fc.constant("call" as const),
      call: fc.nat(3),
      delta: fc.oneof(word, fc.constant("")),
    }),
  },
  { weight: 1, arbitrary: fc.record({ op: fc.constant("usage" as const), tokens: fc.nat(5000) }) },
);

const end = fc.constantFrom("stop", "length", "tool_calls", "content_filter", "failed", "cancelled");

/**
 * Any log that is legal: content in any order and mixture, each call whole, rewrites anywhere, then exactly
 * one terminal event; a finished one has the visible text as its own.
 */
export const legalLog: fc.Arbitrary<TurnEventBody[]> = fc
  .tuple(fc.boolean(), fc.array(op, { maxLength: 30 }), end)
  .map(([withStart, ops, ending]) => {
    const started = {
      type: "started",
      modelUid: "m" as ModelUid,
      backend: "cascade",
      cascadeId: "c" as CascadeId,
    } as const;
    const log: TurnEventBody[] = withStart || ops.length > 0 || ending === "stop" ? [started] : [];
    let text = "";
    const done = new Set<number>();
    for (const o of ops) {
      if (o.op === "text") text += o.delta;
      if (o.op === "text") log.push({ type: "text", delta: o.delta });
      else if (o.op === "thinking") log.push({ type: "thinking", delta: o.delta });
      else if (o.op === "rewrite") {
        text = text.slice(0, Math.floor(text.length * o.keep)) + o.tail;
        log.push({ type: "rewritten", text });
      } else if (o.op === "usage") {
        log.push({
          type: "usage",
          promptTokens: o.tokens + 1,
          completionTokens: o.tokens,
          thinkingTokens: 0,
          estimated: false,
        });
      } else if (!done.has(o.call)) {
        log.push(callEvent(o.call, o.delta));
        done.add(o.call);
      }
    }
    if (ending === "failed") {
      log.push({ type: "failed", error: { code: "upstream_failed", message: "It broke.", hint: "Try again." } });
    } else if (ending === "cancelled") log.push({ type: "cancelled", by: "client" });
    else {
      log.push({ type: "finished", reason: { unified: ending, raw: undefined }, text });
    }
    return log;
  });

function callEvent(call: number, argumentsDelta: string): TurnEventBody {
  return { type: "tool_call", callId: `call_${call}`, name: toolNames[call % 3] ?? "now", argumentsDelta, done: true };
}
