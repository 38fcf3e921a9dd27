import { resolve } from "node:path";
import { expect, test } from "vitest";
import { settleHome } from "./user.ts";

test("a home that is relative is the folder that it names now; an empty one is none", () => {
  const env = { HOME: ".", MILLRACE_HOME: "x/y" };
  settleHome(env);
  expect(env).toEqual({ HOME: resolve("."), MILLRACE_HOME: resolve("x/y") });
  const empty = { HOME: "", MILLRACE_HOME: "" };
  settleHome(empty);
  expect(empty).toEqual({ MILLRACE_HOME: "" });
});
