import { describe, expect, test } from "vitest";
import { MillraceError } from "../../base/errors.ts";
import { encodeAnthropicError } from "./anthropic-messages/errors.ts";
import { forClient } from "./by-client.ts";
import { encodeOpenAiError } from "./openai-errors.ts";

const quota = new MillraceError("quota_exhausted", "No more.", { repeated: true }).toRecord();
const broken = new MillraceError("internal", "It broke.", { repeated: true }).toRecord();
const noIde = new MillraceError("ide_not_running", "No IDE.").toRecord();
const first = new MillraceError("upstream_failed", "It broke.").toRecord();
const codex = "codex_exec/0.169.0 (Linux; x86_64)";

describe.each([
  ["OpenAI", encodeOpenAiError],
  ["Anthropic", encodeAnthropicError],
] as const)("a final failure of the %s APIs", (_, encodeError) => {
  const statusFor = (error: typeof quota, userAgent: string | null) =>
    forClient(encodeError(error, "req-1"), error, userAgent).status;

  test.each([null, "OpenAI/JS 7.57.0", "opencode/1.18.33", "claude-cli/2.1.330 (external, cli)", "my-codex/1"])(
    "has a status that the client %s does not repeat",
    (userAgent) => {
      expect(statusFor(quota, userAgent)).toBe(402);
      expect(statusFor(broken, userAgent)).toBe(422);
      expect(statusFor(noIde, userAgent)).toBe(424);
    },
  );

  test("is a 400 for Codex, which repeats every other 4xx", () => {
    for (const error of [quota, broken, noIde]) expect(statusFor(error, codex)).toBe(400);
  });

  test("says in a header that no repeat helps", () => {
    for (const error of [quota, broken, noIde])
      expect(encodeError(error, "req-1").headers).toEqual({ "x-should-retry": "false" });
  });

  test("is told from one that may pass", () => {
    expect(statusFor(first, codex)).toBeGreaterThanOrEqual(500);
  });

  test("of a rate limit has the wait, and may be repeated only where that is short", () => {
    const limited = (retryAfterMs: number) =>
      encodeError(new MillraceError("rate_limited", "Slow down.", { retryAfterMs }).toRecord(), "req-1").headers;
    expect(limited(4_000)).toEqual({ "retry-after": "4", "x-should-retry": "true" });
    expect(limited(30_000)).toEqual({ "retry-after": "30", "x-should-retry": "false" });
  });
});
