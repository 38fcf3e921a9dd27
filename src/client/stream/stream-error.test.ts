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

  test.each([
    ["model_details.model_name: Name a model.", "model: Name a model."],
    ["conversation[2].text: It is too long.", "messages[2].text: It is too long."],
    ["mcp_tools[0].parameters: Not JSON.", "tools[0].parameters: Not JSON."],
    ["x-millrace-grace: Not a time.", "grace: Not a time."],
    ["Shorten the conversation.", "Shorten the conversation."],
  ])("names what the user of the library wrote: %s", (detail, message) => {
    const value = { details: { detail, additionalInfo: { code: "invalid_request" } } };
    const refused = new ConnectError(detail, Code.InvalidArgument, undefined, [{ desc: ErrorDetailsSchema, value }]);
    expect(failureOf(refused)).toMatchObject({ kind: "refused", error: { message } });
  });

  test("that says the record is an older copy tells its user to start a new stream", () => {
    const refused = failureOf(refusalFor("seqno_conflict", Code.AlreadyExists));
    expect(refused).toMatchObject({ kind: "refused", error: { hint: expect.stringContaining("Start a new stream") } });
  });

  test("without details may be mended, but for a key that is wrong", () => {
    expect(failureOf(new ConnectError("Later.", Code.Unavailable, { "retry-after": "3" }))).toMatchObject({
      kind: "lost",
      retryAfterMs: 3000,
    });
    expect(failureOf(new ConnectError("No.", Code.Unauthenticated))).toMatchObject({ kind: "refused" });
  });
});
