import { expect, it } from "vitest";
import { daysBetween } from "./local-days.ts";

const quarterMs = 15 * 60_000;
const hours = (day: { readonly sinceMs: number; readonly untilMs: number }) => (day.untilMs - day.sinceMs) / 3_600_000;

it("cuts a time into the days of a zone, with 23 and 25 hours where clocks change", () => {
  const days = daysBetween(
    {
      sinceMs: Date.parse("2026-03-27T23:00:00Z"),
      untilMs: Date.parse("2026-03-30T10:00:00Z"),
      timeZone: "Europe/Berlin",
    },
    quarterMs,
  );
  expect(days.map((day) => [day.day, hours(day)])).toEqual([
    ["2026-03-28", 24],
    ["2026-03-29", 23],
    ["2026-03-30", 12],
  ]);
  const autumn = { sinceMs: Date.parse("2026-10-24T22:00:00Z"), untilMs: Date.parse("2026-10-26T00:00:00Z") };
  expect(daysBetween({ ...autumn, timeZone: "Europe/Berlin" }, quarterMs).map(hours)).toEqual([25, 1]);
});

it("begins and ends within a day, also where midnight is at a quarter of an hour", () => {
  const query = { sinceMs: Date.parse("2026-01-01T18:07:00Z"), untilMs: Date.parse("2026-01-01T18:20:00Z") };
  // Nepal is 5 hours and 45 minutes ahead: its midnight is 18:15 in UTC.
  expect(daysBetween({ ...query, timeZone: "Asia/Kathmandu" }, quarterMs)).toEqual([
    { day: "2026-01-01", sinceMs: query.sinceMs, untilMs: Date.parse("2026-01-01T18:15:00Z") },
    { day: "2026-01-02", sinceMs: Date.parse("2026-01-01T18:15:00Z"), untilMs: query.untilMs },
  ]);
  expect(daysBetween({ sinceMs: 5, untilMs: 5, timeZone: "UTC" }, quarterMs)).toEqual([]);
});
