import { expect, it } from "vitest";
import { startOfLog, type TurnId } from "../../base/ids.ts";
import { eventIdOf } from "../../log/event.ts";
import { handedOut, isBefore, parseCursor, writeCursor } from "./wire-cursor.ts";

const turnId = "turn_01jy0000000000000000000000" as TurnId;

it("a reader has all up to its cursor, the event there included, and nothing after it", () => {
  const cursor = { turnId, eventId: eventIdOf(9), part: 1 };
  const at = (seq: number, part: number) => isBefore(eventIdOf(seq), part, cursor);
  expect([at(8, 5), at(9, 0), at(9, 1), at(9, 2), at(10, 0)]).toEqual([true, true, true, false, false]);
  expect(isBefore(undefined, 7, cursor)).toBe(true);
  expect(parseCursor(writeCursor(turnId, cursor.eventId, 1))).toEqual(cursor);
  expect(parseCursor(writeCursor(turnId, undefined, 0))).toEqual({ turnId, eventId: startOfLog, part: 0 });
});

it("a cursor is one that the log has handed out, up to its last event", () => {
  const record = { lastEventId: eventIdOf(10) };
  expect([0, 9, 10].map((seq) => handedOut(eventIdOf(seq), record, "after"))).toEqual(["0", "a9", "b10"]);
  expect(() => handedOut(eventIdOf(11), record, "after")).toThrow("beyond the last event");
});
