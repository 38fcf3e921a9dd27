import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { anyCharacter } from "../../test/support/any-character.ts";
import { variantOf } from "../base/ide-name.ts";
import { isWithoutCascade, productName, shortProductNames } from "./product-name.ts";

describe("the product's name", () => {
  it.each([
    ["windsurf", "3.10.48", "Devin Desktop 3.10 (formerly Windsurf)"],
    ["windsurf", "3.0.12", "Devin Desktop 3.0 (formerly Windsurf)"],
    ["windsurf", "2.2.17", "Devin Desktop 2.2 (formerly Windsurf)"],
    ["windsurf", "", "Devin Desktop (formerly Windsurf)"],
    ["windsurf-next", "3.11.228", "Devin Desktop Next 3.11 (formerly Windsurf Next)"],
    ["windsurf-next", "2.3", "Devin Desktop Next 2.3 (formerly Windsurf Next)"],
    ["antigravity", "1.2.3", "Antigravity 1.2"],
    ["antigravity", "", "Antigravity"],
  ] as const)("of %s %s is %s", (variant, version, name) => {
    expect(productName(variant, version)).toBe(name);
  });

  it("is what a user may type for it, in each form that a screen shows", () => {
    for (const variant of ["windsurf", "windsurf-next", "antigravity"] as const)
      for (const version of ["3.10.48", "2.2.17", ""]) {
        const shown = productName(variant, version);
        const typed = [shown, shown.toUpperCase(), shown.replace(/ \(.*/, ""), `${shown}, a stand-in`, variant];
        expect([...typed, shortProductNames[variant]].map(variantOf)).toEqual([...typed, variant].map(() => variant));
      }
    expect(["Windsurf 2.3", "Windsurf Next", "devin", "devin-next"].map(variantOf)).toEqual([
      "windsurf",
      "windsurf-next",
      "windsurf",
      "windsurf-next",
    ]);
    expect(["vim", "", "devin cli", "3.10"].map(variantOf)).toEqual([undefined, undefined, undefined, undefined]);
  });

  it("never fails on any version", () => {
    const property = fc.property(fc.string({ unit: anyCharacter }), (version) => {
      return productName("windsurf", version).startsWith("Devin Desktop");
    });
    expect(() => fc.assert(property)).not.toThrow();
  });
});

it.each([
  ["3.9.19", true],
  ["3.10.48", true],
  ["4.0", true],
  ["3.8.20", false],
  ["2.2.17", false],
  ["1.9577.0", false],
  ["", false],
])("a build %s is without Cascade: %s", (version, without) => {
  expect(isWithoutCascade(version)).toBe(without);
});
