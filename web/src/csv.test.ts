import { expect, it } from "vitest";
import { csvOf } from "./csv.ts";

const someTurn: Parameters<typeof csvOf>[0][number] = {
  id: "turn_1",
  created_at: "2026-02-24T12:00:00.000Z",
  ended_at: "2026-02-24T12:00:01.000Z",
  client: "=cmd()",
  project: 'a, "b"',
  ide: null,
  model: "uid",
  model_name: "name",
  api: "openai-chat",
  tokens: null,
  credits: 1.5,
  credits_estimated: null,
  first_token_ms: null,
  duration_ms: 1000,
  status: "failed",
  reason: "quota_exhausted",
};

it("writes turns as CSV, with what is not known empty and no cell that a spreadsheet would run", () => {
  const text = csvOf([someTurn]);
  const [header, row, end] = text.split("\r\n");
  expect(header?.split(",").slice(0, 5)).toEqual(["id", "created_at", "ended_at", "client", "project"]);
  expect(row).toBe(
    `turn_1,2026-02-24T12:00:00.000Z,2026-02-24T12:00:01.000Z,'=cmd(),"a, ""b""",uid,name,openai-chat,,,,1.5,,,1000,failed,quota_exhausted`,
  );
  expect(end).toBe("");
});

it.each([
  ["=1+1", "'=1+1"],
  ["x;=1+1", "x;'=1+1"],
  ["x|@SUM(1)", "x|'@SUM(1)"],
  ["x\t+1", "x\t'+1"],
  ["x:-1", "x:'-1"],
  [" =1", " '=1"],
  ["'=1", "''=1"],
  ["＝1", "'＝1"],
  ["a-b", "a-b"],
])("writes %j so that no spreadsheet runs it, at whichever separator it splits", (project, written) => {
  const turn = { ...someTurn, project };
  expect(csvOf([turn]).split("\r\n")[1]?.split(",")[4]).toBe(written);
});

it("leaves no formula behind a separator in a cell that needs quotes", () => {
  const [, row = ""] = csvOf([{ ...someTurn, project: 'x,=1;"=2"\n=3' }]).split("\r\n");
  expect(row).not.toMatch(/[,;\n]"*=/);
});
