import { expect, test } from "vitest";
import { isMillraceError, MillraceError } from "../base/errors.ts";
import type { LanguageServer } from "../language-server/language-server.ts";
import { CurrentServer } from "./current-server.ts";

const never = new AbortController().signal;

function closing(times: number) {
  let finds = 0;
  const source = { find: async () => ({ n: ++finds }) as unknown as LanguageServer, forget: () => {} };
  const current = new CurrentServer(source, { n: 0 } as unknown as LanguageServer);
  let calls = 0;
  const call = async () => {
    if (calls++ < times) throw new MillraceError("cancelled", "The connection to the IDE's server has been closed.");
    return "answer";
  };
  return current.twice(call, never);
}

test("a call whose connection another request closed, twice in a row, is made again on the server that runs then", async () => {
  await expect(closing(2)).resolves.toBe("answer");
});

test("and is never told to a client as its own cancel", async () => {
  const error: unknown = await closing(9).catch((reason: unknown) => reason);
  expect(isMillraceError(error) && [error.code, error.hint]).toEqual([
    "upstream_failed",
    "Wait until the IDE has started, then send the request again.",
  ]);
});
