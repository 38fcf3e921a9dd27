import { expect, test } from "vitest";
import { z } from "zod";
import { parseBody } from "./parse-body.ts";

test("a missing model is named in words, with where the models are listed", () => {
  const schema = z.looseObject({ model: z.string(), n: z.number().optional() });
  const parse = (body: unknown) => () => parseBody(schema, body);
  expect(parse({})).toThrow(
    expect.objectContaining({
      message: "model: It is missing. It must be of type string.",
      param: "model",
      hint: "`GET /v1/models` lists the account's models.",
    }),
  );
  expect(parse({ model: "a", n: "1" })).toThrow("n: Invalid input: expected number, received string.");
});
