import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { type ErrorCode, errorCodes, MillraceError, unusableAnswer } from "../base/errors.ts";
import { type AnswerReach, type FailedSeries, repeatOf, toldAgain } from "./back-off.ts";

const failedAtMs = 1_000_000;

function series(
  code: ErrorCode,
  reached: AnswerReach,
  prompts: number,
  options: { resetsAtMs?: number; retryAfterMs?: number } = {},
) {
  const error = new MillraceError(code, "It failed.", { hint: "Do this.", ...options }).toRecord();
  return { error, reached, prompts, atMs: failedAtMs } satisfies FailedSeries;
}

/** From which second after the newest failure a prompt may follow; 0: at once. */
function opensAfter(failed: FailedSeries): number {
  const first = repeatOf(failed, failedAtMs);
  if (first.type === "prompt") return 0;
  expect(repeatOf(failed, first.untilMs - 1).type).toBe("tell");
  expect(repeatOf(failed, first.untilMs).type).toBe("prompt");
  return (first.untilMs - failedAtMs) / 1000;
}

/** The list of docs/dev/turn-machine.md, line by line: failure, reached, and the wait after each prompt. */
function documented(): readonly (readonly [string, AnswerReach, readonly number[]])[] {
  const page = readFileSync(new URL("../../docs/dev/turn-machine.md", import.meta.url), "utf8");
  const part = page.split("## A request that failed")[1]?.split("\n## ")[0] ?? "";
  const rows = part.split("\n").filter((line) => /^- (?:`|every other code)/.test(line));
  const named = new Set([...rows.join("\n").matchAll(/`([a-z_]+)`/g)].map(([, code = ""]) => code));
  const others = errorCodes.filter((code) => !named.has(code));
  return rows.flatMap((line) => {
    const [, codes = "", reached = "", waits = ""] = /^- (.*); (nothing|a part) sent: (.*)$/.exec(line) ?? [];
    const seconds = waits.split(", ").map((wait) => (wait === "at once" ? 0 : Number.parseInt(wait, 10)));
    const ofRow = codes.startsWith("`") ? [...codes.matchAll(/`([a-z_]+)`/g)].map(([, code = ""]) => code) : others;
    return ofRow.map((code) => [code, reached === "a part" ? "a_part" : "nothing", seconds] as const);
  });
}

describe("the table", () => {
  const rows = documented();

  test("docs/dev/turn-machine.md has a row for each failure, with nothing sent and with a part sent", () => {
    const codes = errorCodes.flatMap((code) => [`${code} nothing`, `${code} a_part`]);
    const held = rows.filter(([code]) => code !== unusableAnswer).map(([code, reached]) => `${code} ${reached}`);
    expect(held.toSorted()).toEqual(codes.toSorted());
  });

  test.each(rows)("%s with %s sent: a prompt may follow after %j s", (name, reached, waits) => {
    const code = name === unusableAnswer ? "upstream_failed" : (name as ErrorCode);
    const rules = waits.map((_, n) => {
      const failed = series(code, reached, n + 1);
      const details = name === unusableAnswer ? { reason: unusableAnswer } : undefined;
      return opensAfter({ ...failed, error: { ...failed.error, ...(details && { details }) } });
    });
    expect(rules).toEqual(waits);
  });

  test("no failure opens more than one prompt at once, and the first wait is a minute at most", () => {
    for (const [, , waits] of rows) {
      expect(waits.filter((wait) => wait === 0).length).toBeLessThanOrEqual(1);
      expect(waits.find((wait) => wait > 0)).toBeLessThanOrEqual(60);
    }
  });
});

test("the last wait stays", () => {
  expect(opensAfter(series("internal", "nothing", 50))).toBe(300);
});

test("a known reset ends the wait", () => {
  expect(opensAfter(series("quota_exhausted", "nothing", 1, { resetsAtMs: failedAtMs + 5_000 }))).toBe(5);
});

test("the wait that a refusal named counts once: a client that keeps to it does not ask every few seconds", () => {
  expect(opensAfter(series("rate_limited", "nothing", 1, { retryAfterMs: 4_000 }))).toBe(4);
  expect(opensAfter(series("rate_limited", "nothing", 2, { retryAfterMs: 4_000 }))).toBe(60);
});

test("a failure that is repeated says since when, until when, and what to do", () => {
  const failed = series("internal", "nothing", 2);
  expect(toldAgain(failed, failedAtMs + 30_000, failedAtMs + 10_000).toRecord()).toEqual({
    code: "internal",
    message: "It failed.",
    hint: "The same request failed 10 s ago, so Millrace did not send it again. Send it after 20 s, or now with a new Idempotency-Key.",
    repeated: true,
  });
});

test.each(errorCodes)("%s told again has no words of ours that OpenCode retries at", (code) => {
  const failed = series(code, "nothing", 2);
  const { hint } = toldAgain(failed, failedAtMs + 30_000, failedAtMs + 10_000);
  expect(hint).not.toMatch(/429|500|502|503|504|524|rate.limit|server.error|try again|terminated/i);
});
