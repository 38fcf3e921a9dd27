import { describe, expect, it } from "vitest";
import { valueAt, withGaps, withNewest } from "./lines.ts";

const day = 86_400;
const now = 100 * day;

describe("lines of readings", () => {
  it("hold a value up to the next reading, and up to now", () => {
    const line = withGaps(
      [
        [now - 600, 0.8],
        [now - 300, 0.1],
      ],
      now,
    );
    expect(line).toEqual([
      [now - 600, 0.8],
      [now - 300, 0.1],
      [now, 0.1],
    ]);
    expect([valueAt(line, now - 301), valueAt(line, now - 299)]).toEqual([0.8, 0.1]);
  });

  it("break without readings: a reading counts for five minutes", () => {
    const line = withGaps(
      [
        [now - 9000, 0.5],
        [now - 60, 0.6],
      ],
      now,
    );
    expect(valueAt(line, now - 9000 + 299)).toBe(0.5);
    expect(valueAt(line, now - 3600)).toBeNull();
    expect(valueAt(line, now - 9001)).toBeNull();
  });

  it("do not break where old readings were thinned", () => {
    const line = withGaps(
      [
        [now - 70 * day, 0.2],
        [now - 70 * day + 86_400, 0.3],
      ],
      now,
    );
    expect(valueAt(line, now - 70 * day + 1800)).toBe(0.2);
  });

  it("end at the reading that the cards show", () => {
    expect(withNewest([[now - 300, 0.89]], [now, 0.33]).at(-1)).toEqual([now, 0.33]);
    expect(withNewest([[now, 0.89]], [now, 0.33])).toEqual([[now, 0.33]]);
  });
});
