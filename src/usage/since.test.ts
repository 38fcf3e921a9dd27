import { describe, expect, it } from "vitest";
import { parseSince, parseTime } from "./since.ts";

const now = Date.parse("2026-11-21T12:00:00Z");

describe("a time in the past", () => {
  it.each([
    ["7d", now - 7 * 86_400_000],
    ["36h", now - 36 * 3_600_000],
    ["2w", now - 14 * 86_400_000],
    ["90m", now - 90 * 60_000],
    ["2026-11-01", new Date(2026, 10, 1).getTime()],
    ["today", new Date(2026, 10, 21).getTime()],
    ["yesterday", new Date(2026, 10, 20).getTime()],
    ["this week", new Date(2026, 10, 16).getTime()],
    ["last week", new Date(2026, 10, 9).getTime()],
    ["2026-11-01T10:30", new Date(2026, 10, 1, 10, 30).getTime()],
    ["2026-11-01T23:30:00-05:00", Date.parse("2026-11-02T04:30:00Z")],
  ])("may be written %s", (text, atMs) => {
    expect(parseSince(text, now, "since")).toBe(atMs);
  });

  it("is the beginning of its quarter of an hour, where sums begin", () => {
    expect(parseSince("7m", now + 1_234, "since")).toBe(now - 15 * 60_000);
    expect(parseSince("2026-11-20T10:44:59Z", now, "since")).toBe(Date.parse("2026-11-20T10:30:00Z"));
    expect(parseTime("7m", now + 1_234, "until")).toBe(now + 1_234 - 7 * 60_000);
  });

  it.each(["", "tomorrow", "7", "7y", "-3d", "2026-13-01", "2026-02-30", "2026-11-1", "1/2/2026"])(
    "is not %j: the error says what would be one",
    (text) => {
      expect(() => parseSince(text, now, "since")).toThrow(
        expect.objectContaining({ code: "invalid_request", param: "since", hint: expect.stringContaining("7d") }),
      );
    },
  );

  it("does not lie in the future", () => {
    expect(() => parseSince("2026-12-01", now, "since")).toThrow("lies in the future");
  });
});
