import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isWithoutCascade, productName, shortProductName } from "./product-name.ts";

describe("the product's name", () => {
  it.each([
    ["windsurf", "3.10.48", "Devin Desktop 3.10 (formerly Windsurf)"],
    ["windsurf", "3.0.12", "Devin Desktop 3.0 (formerly Windsurf)"],
    ["windsurf", "2.2.17", "Windsurf 2.2"],
    ["windsurf", "", "Windsurf"],
    ["windsurf-next", "3.11.228", "Devin Desktop Next 3.11 (formerly Windsurf Next)"],
    ["windsurf-next", "2.3", "Windsurf Next 2.3"],
    ["antigravity", "1.2.3", "Antigravity 1.2"],
    ["antigravity", "", "Antigravity"],
  ] as const)("of %s %s is %s", (variant, version, name) => {
    expect(productName(variant, version)).toBe(name);
  });

  it("goes by the folder's name where nothing says the version, and by the version where both speak", () => {
    expect(productName("windsurf", "", true)).toBe("Devin Desktop (formerly Windsurf)");
    expect(productName("windsurf", "2.2.17", true)).toBe("Windsurf 2.2");
  });

  it("is one word in a status line", () => {
    expect([shortProductName("windsurf", "3.9.19"), shortProductName("windsurf", "2.2.17")]).toEqual([
      "Devin",
      "Windsurf",
    ]);
  });

  it("never fails on any version", () => {
    const property = fc.property(fc.string({ unit: "binary" }), (version) => {
      return /^(?:Devin Desktop|Windsurf)/.test(productName("windsurf", version));
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
