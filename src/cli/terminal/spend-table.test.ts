import { expect, it } from "vitest";
import type { UsageEnvelope } from "../../usage/envelope.ts";
import { fakeIo } from "./io.fake.ts";
import { openOutput } from "./output.ts";
import { printSpend } from "./usage-table.ts";

it.each([
  [0, "at_least", "Devin Desktop lost 2 credits of prompt-credits."],
  [0, "exact", "Devin Desktop lost 2 credits of prompt-credits, all of it through Millrace."],
  [1, "at_least", "Devin Desktop lost 2 credits of prompt-credits; used outside Millrace: at least 1 credits."],
  [
    null,
    "unknown",
    "Devin Desktop lost 2 credits of prompt-credits; how much of that was used outside Millrace is unknown.",
  ],
] as const)(
  "what was used outside Millrace, %s (%s), is a sentence that says something",
  (outside, bound, sentence) => {
    const at = "2026-11-01T00:00:00.000Z";
    const use = {
      ide: "devin",
      source: "language_server",
      window: "prompt-credits",
      unit: "credits",
      from: at,
      to: at,
      lost: 2,
      explained: 2,
    } as const;
    const usage: UsageEnvelope = {
      object: "usage",
      since: at,
      until: at,
      by: "model",
      time_zone: "UTC",
      data: [],
      used_outside: [{ ...use, used_outside: outside, bound }],
      elsewhere: null,
    };
    const io = fakeIo({ homeFolder: "/nowhere" });
    printSpend(usage, openOutput(io.stdout, io.stderr, io.env));
    expect(io.written.stdout()).toContain(`${sentence}\n`);
  },
);
