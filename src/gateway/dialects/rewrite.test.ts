import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { afterRewrite } from "./answer.ts";

describe("afterRewrite", () => {
  it("continues behind the place that the client has, when something earlier changed", () => {
    const sent = "There are three wheels on a car.";
    expect(afterRewrite(sent, "There are four wheels on a car. And")).toBe(" And");
  });

  it("sends all that differs when nothing says where the client is", () => {
    expect(afterRewrite("Yes, of course.", "No.")).toBe("No.");
  });

  it("sends nothing when text was taken back", () => {
    expect(afterRewrite("one two three", "one two")).toBe("");
  });

  it("never halves a character", () => {
    expect(afterRewrite("wave 🌊", "wave 🌋 hot")).toBe("🌋 hot");
  });

  it("always ends as the new text ends, unless that was sent already", () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 60 }), fc.string({ maxLength: 60 }), (sent, text) => {
        const delta = afterRewrite(sent, text);
        expect(text.endsWith(delta)).toBe(true);
      }),
    );
  });
});
