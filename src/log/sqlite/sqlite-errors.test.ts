import { expect, it } from "vitest";
import { translateSqliteError } from "./sqlite-errors.ts";

const thrown = (errcode: number) => Object.assign(new Error("from SQLite"), { errcode });

it.each([
  [11, "is damaged", "Restart the gateway"],
  [26, "is not a database", "Restart the gateway"],
  [13, "has no room left", "Free disk space"],
])("says of SQLite's code %i what is wrong and what to do", (code, words, hint) => {
  expect(translateSqliteError(thrown(code), "The file")).toMatchObject({
    code: "degraded",
    message: expect.stringContaining(`The file ${words}`) as string,
    hint: expect.stringContaining(hint) as string,
  });
});
