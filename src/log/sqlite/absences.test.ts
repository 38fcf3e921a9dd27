import { beforeEach, describe, expect, it } from "vitest";
import { Absences } from "./absences.ts";

let absences: Absences;

beforeEach(() => {
  absences = new Absences();
});

describe("bodies that no stored turn has", () => {
  it("are known once nothing was found, and only of that caller", () => {
    expect(absences.isAbsent("me", "body", 1)).toBe(false);
    absences.found("me", "body", 1);
    expect(absences.isAbsent("me", "body", 1)).toBe(true);
    expect(absences.isAbsent("you", "body", 1)).toBe(false);
    expect(absences.isAbsent("me", "other", 1)).toBe(false);
  });

  it("are asked for again once another connection has written", () => {
    absences.found("me", "body", 1);
    expect(absences.isAbsent("me", "body", 2)).toBe(false);
    expect(absences.isAbsent("me", "body", 1)).toBe(false);
  });

  it("are there once a turn was stored, but still without one of another owner", () => {
    absences.found("me", "body", 1);
    absences.added("me", "body", "this process");
    expect(absences.isAbsent("me", "body", 1)).toBe(false);
    expect(absences.isAbsent("me", "body", 1, "this process")).toBe(true);
    expect(absences.isAbsent("me", "body", 1, "another")).toBe(false);
    absences.added("me", "body", "another");
    expect(absences.isAbsent("me", "body", 1, "this process")).toBe(false);
  });

  it("are not remembered without end", () => {
    for (let i = 0; i < 5_000; i++) absences.found("me", `body ${i}`, 1);
    expect(absences.isAbsent("me", "body 0", 1)).toBe(false);
    expect(absences.isAbsent("me", "body 4999", 1)).toBe(true);
  });
});
