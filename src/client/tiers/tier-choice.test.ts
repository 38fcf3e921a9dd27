import { describe, expect, test } from "vitest";
import type { Tier } from "./tier.ts";
import { TierChoice, type TierFinding } from "./tier-choice.ts";

function tier(name: Tier["name"]): Tier {
  return {
    name,
    attach: () => {
      throw new Error("not opened here");
    },
  };
}

function begin() {
  const choice = new TierChoice([tier("bidi"), tier("sse"), tier("poll")]);
  /** Reports one finding after another for whichever tier is due; answers which is due then. */
  const after = (...findings: readonly TierFinding[]) => {
    for (const finding of findings) choice.report(choice.current, finding);
    return choice.current.name;
  };
  return { choice, after };
}

describe("the choice of a tier", () => {
  test("starts with the best one and stays with what works", () => {
    const { after } = begin();
    expect(after()).toBe("bidi");
    expect(after("welcomed", "failed", "welcomed", "unreachable")).toBe("bidi");
  });

  test("tries the next one after two failures, and the best one again after the last", () => {
    const { after } = begin();
    expect(after("failed")).toBe("bidi");
    expect(after("failed")).toBe("sse");
    expect(after("failed", "failed")).toBe("poll");
    expect(after("failed", "failed")).toBe("bidi");
  });

  test("stays on its tier while no gateway answers", () => {
    const { after } = begin();
    expect(after(...Array.from({ length: 50 }, () => "unreachable" as const))).toBe("bidi");
  });

  test("leaves a tier that is held back at once, and does not come back to it if the next one works", () => {
    const { after } = begin();
    expect(after("held_back")).toBe("sse");
    expect(after("welcomed")).toBe("sse");
    expect(after("failed", "failed")).toBe("poll");
    expect(after("failed", "failed")).toBe("sse");
  });

  test("does not leave a tier that carried events for a gateway that was slow once, and does the second time", () => {
    const { choice, after } = begin();
    after("welcomed");
    choice.useful(choice.current);
    expect(after("held_back")).toBe("sse");
    expect(after("held_back", "welcomed")).toBe("bidi");
    expect(after("held_back", "welcomed")).toBe("poll");
  });

  test("gives a tier that failed only once where another worked a second chance", () => {
    const { after } = begin();
    expect(after("failed", "failed", "welcomed")).toBe("bidi");
    expect(after("failed", "failed", "welcomed")).toBe("sse");
  });

  test("leaves a tier that goes silent after its welcome, twice without anything new", () => {
    const { choice, after } = begin();
    expect(after("welcomed", "silent")).toBe("bidi");
    choice.useful(choice.current);
    expect(after("welcomed", "silent")).toBe("bidi");
    expect(after("welcomed", "silent")).toBe("sse");
    expect(after("welcomed")).toBe("sse");
  });

  test("says so too where the first one cannot even be asked, but not of a gateway that worked before", () => {
    const { choice, after } = begin();
    expect(after("failed", "failed")).toBe("sse");
    after("missing");
    expect(choice.allMissing).toBe(false);
    after("missing");
    expect(choice.allMissing).toBe(true);
    after("welcomed", "failed", "failed", "missing", "missing");
    expect(choice.allMissing).toBe(false);
  });

  test("reports a gateway that knows no tier", () => {
    const { choice, after } = begin();
    after("missing", "missing");
    expect(choice.allMissing).toBe(false);
    after("missing");
    expect(choice.allMissing).toBe(true);
  });
});
