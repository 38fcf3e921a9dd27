import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { ErrorDetailsSchema } from "../../proto/aiserver/v1/chat_pb.ts";
import { failureOf } from "./stream-error.ts";

/** A refusal as the gateway writes it. */
function refusalFor(reason: string, code = Code.Unimplemented): ConnectError {
  const value = { details: { detail: "It says why.", additionalInfo: { code: "invalid_request", reason } } };
  return new ConnectError("It says why.", code, undefined, [{ desc: ErrorDetailsSchema, value }]);
}

describe("a failed call", () => {
  test.each(["needs_http2", "no_such_method"])("refused because of %s says that another tier may do", (reason) => {
    expect(failureOf(refusalFor(reason))).toMatchObject({ kind: "no_such_tier" });
  });

  test("refused for anything else is refused over every tier", () => {
    const refused = failureOf(refusalFor("superseded", Code.Aborted));
    expect(refused).toMatchObject({ kind: "refused", reason: "superseded", error: { code: "invalid_request" } });
  });

  test("without details may be mended, but for a key that is wrong", () => {
    expect(failureOf(new ConnectError("Later.", Code.Unavailable, { "retry-after": "3" }))).toMatchObject({
      kind: "lost",
      retryAfterMs: 3000,
    });
    expect(failureOf(new ConnectError("No.", Code.Unauthenticated))).toMatchObject({ kind: "refused" });
  });
});
