import { expect, it } from "vitest";
import { ideVariants } from "../language-server/transport/endpoint.ts";
import { ideName, ideNames, variantOf } from "./ide-name.ts";

it("has one word for each IDE, and takes the earlier name from the user too", () => {
  expect(ideVariants.map((variant) => ideName(variant))).toEqual(ideNames);
  expect(ideName("windsurf-next")).toBe("devin-next");
  expect(ideName("an-agent")).toBe("an-agent");
  for (const variant of ideVariants) {
    expect(variantOf(variant)).toBe(variant);
    expect(variantOf(ideName(variant).toUpperCase())).toBe(variant);
  }
  expect(variantOf("cursor")).toBeUndefined();
});
