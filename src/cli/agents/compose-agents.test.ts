import { expect, test } from "vitest";
import { vendorProgram } from "./compose-agents.ts";

test("the same find is refused with the same error, since a gateway asks before each prompt", () => {
  const refusalOf = (result: Parameters<typeof vendorProgram>[0]) => {
    try {
      return vendorProgram(result);
    } catch (error) {
      return error;
    }
  };
  const found = { agents: [] };
  expect(refusalOf(found)).toMatchObject({ code: "ide_not_running" });
  expect(refusalOf(found)).toBe(refusalOf(found));
  expect(refusalOf({ agents: [] })).not.toBe(refusalOf(found));
});
