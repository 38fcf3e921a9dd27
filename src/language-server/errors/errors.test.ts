import { create } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { anyCharacter } from "../../../test/support/any-character.ts";
import { type ErrorCode, MillraceError } from "../../base/errors.ts";
import { Secret } from "../../base/secret.ts";
import { CortexErrorDetailsSchema } from "../../proto/windsurf/exa/cortex_pb.ts";
import { callFailure } from "./call-failure.ts";
import { asRetired, errorFromDetails, errorFromText, translateError, upstreamReason } from "./errors.ts";
import { recorded } from "./recorded-errors.fake.ts";
import type { CallFailureKind } from "./symptoms.ts";
import { nodeSymptoms, type UpstreamReason, upstreamSymptoms } from "./symptoms.ts";

const nowMs = 1_770_000_000_000;
const context = { nowMs, secrets: [new Secret("sk-ws-01-planted")] };

describe("what a language server says", () => {
  it.each(recorded)("%s", (text, code, meaning, reason) => {
    const error = translateError(new ConnectError(text, code), context);
    expect([error.code, upstreamReason(error)]).toEqual([meaning, reason]);
    expect(error.message).not.toBe("");
    expect(error.hint).not.toBe("");
  });

  it("means the same in an error step and in an in-band message as in a status", () => {
    for (const [text, , meaning, reason] of recorded) {
      if (text.startsWith("HTTP ") || text === "this model needs a paid tier") continue; // told by its status alone
      const step = errorFromDetails(create(CortexErrorDetailsSchema, { fullError: text }), context);
      expect([text, step.code, upstreamReason(step)]).toEqual([text, meaning, reason]);
      expect(upstreamReason(errorFromText(text, context))).toBe(reason);
    }
  });

  it("is known by a row of the table that some recorded text needs: no row is idle", () => {
    const idle = upstreamSymptoms.filter(
      (row) => !recorded.some(([text]) => upstreamSymptoms.find((candidate) => candidate.pattern.test(text)) === row),
    );
    expect(idle.map((row) => row.reason)).toEqual([]);
  });
});

describe("a status without a text that is known", () => {
  const statuses: readonly (readonly [Code, ErrorCode, CallFailureKind])[] = [
    [Code.Canceled, "upstream_failed", "interrupted"],
    [Code.Unknown, "upstream_failed", "interrupted"],
    [Code.InvalidArgument, "invalid_request", "refused"],
    [Code.DeadlineExceeded, "upstream_timeout", "interrupted"],
    [Code.NotFound, "upstream_failed", "refused"],
    [Code.AlreadyExists, "upstream_failed", "refused"],
    [Code.PermissionDenied, "upstream_failed", "unauthenticated"],
    [Code.ResourceExhausted, "rate_limited", "refused"],
    [Code.FailedPrecondition, "upstream_failed", "refused"],
    [Code.Aborted, "upstream_failed", "interrupted"],
    [Code.OutOfRange, "upstream_failed", "refused"],
    [Code.Unimplemented, "upstream_failed", "unimplemented"],
    [Code.Internal, "upstream_failed", "interrupted"],
    [Code.Unavailable, "upstream_failed", "interrupted"],
    [Code.DataLoss, "upstream_failed", "interrupted"],
    [Code.Unauthenticated, "upstream_failed", "unauthenticated"],
  ];
  it.each(statuses)("%i is %s, %s", (code, meaning, kind) => {
    const error = translateError(new ConnectError("zzz", code), context);
    expect([error.code, callFailure(error)]).toEqual([meaning, kind]);
  });
});

describe("a call that a build lacks", () => {
  const missing = translateError(new ConnectError("unimplemented", Code.Unimplemented), context);

  it.each([
    ["3.9.19", "backend_retired", "retired"],
    ["3.11.228", "backend_retired", "retired"],
    ["3.8.20", "upstream_failed", "unimplemented"],
    ["2.2.17", "upstream_failed", "unimplemented"],
    ["", "upstream_failed", "unimplemented"],
  ])("of version %j is %s, %s", (version, code, kind) => {
    const error = asRetired(missing, version);
    expect(error).toMatchObject({ code });
    expect(callFailure(error)).toBe(kind);
  });

  it("changes nothing of another failure, and names the way out", () => {
    const refused = translateError(new ConnectError("invalid CSRF token", Code.Unauthenticated), context);
    expect(asRetired(refused, "3.9.19")).toBe(refused);
    expect(asRetired(missing, "3.9.19")).toMatchObject({
      message: "Cascade was removed from this build of the IDE.",
      hint: expect.stringContaining("`--backend acp`"),
    });
  });
});

describe("a refusal without a text", () => {
  it("may mean either credential, and says so", () => {
    const error = translateError(new ConnectError("", Code.Unauthenticated), context);
    expect(error.message).toBe("The IDE's server refused the CSRF token or the API key.");
    expect(upstreamReason(error)).toBe("csrf_refused");
  });
});

describe("a broken connection", () => {
  const codes: readonly (readonly [string, ErrorCode, UpstreamReason])[] = [
    ["ECONNREFUSED", "ide_not_running", "connection_refused"],
    ["ECONNRESET", "upstream_failed", "connection_lost"],
    ["ERR_HTTP2_SESSION_ERROR", "upstream_failed", "connection_lost"],
    ["EPIPE", "upstream_failed", "connection_lost"],
    ["ETIMEDOUT", "upstream_timeout", "connection_lost"],
    ["DEPTH_ZERO_SELF_SIGNED_CERT", "upstream_failed", "tls_refused"],
    ["ERR_SSL_WRONG_VERSION_NUMBER", "upstream_failed", "tls_refused"],
  ];
  it.each(codes)("%s is %s, %s, however deep it lies", (code, meaning, reason) => {
    const node = Object.assign(new Error("some text"), { code });
    const both = new AggregateError([node, new Error("another")]);
    for (const thrown of [node, new ConnectError("x", Code.Aborted, undefined, undefined, node), both]) {
      const error = translateError(thrown, context);
      expect([error.code, upstreamReason(error)]).toEqual([meaning, reason]);
    }
  });

  it("has rows that name a code each, none of them idle", () => {
    const idle = nodeSymptoms.filter((row) => !codes.some(([code]) => row.pattern.test(code)));
    expect(idle).toEqual([]);
  });
});

describe("a limit", () => {
  it("says when it ends, from its text", () => {
    const error = errorFromText("Reached message rate limit for this model. Resets in: 3h0m0s", context);
    expect([error.retryAfterMs, error.resetsAtMs]).toEqual([10_800_000, nowMs + 10_800_000]);
  });

  it("says when it ends, from the header, which counts more", () => {
    const thrown = new ConnectError("rate limit. Resets in: 3h0m0s", Code.ResourceExhausted, { "retry-after": "30" });
    expect(translateError(thrown, context).retryAfterMs).toBe(30_000);
  });
});

describe("an abort", () => {
  it("wins over what it broke", () => {
    const aborted = AbortSignal.abort(new Error("enough"));
    expect(translateError(new ConnectError("x", Code.Unavailable), context, aborted).code).toBe("cancelled");
  });

  it("by a deadline is a timeout, and by one of our errors that error", () => {
    const timeout = AbortSignal.abort(new DOMException("late", "TimeoutError"));
    expect(translateError(new Error("x"), context, timeout).code).toBe("upstream_timeout");
    const ours = new MillraceError("degraded", "x");
    expect(translateError(new Error("x"), context, AbortSignal.abort(ours))).toBe(ours);
  });
});

describe("an error step", () => {
  it("shows what was meant for the user, and keeps the ids for support", () => {
    const details = create(CortexErrorDetailsSchema, {
      userErrorMessage: "The planner tripped.",
      shortError: "short",
      fullError: "full at /home/ada/secret.go:12",
      errorId: "e-1",
    });
    const error = errorFromDetails(details, context);
    expect(error.message).toContain("The planner tripped.");
    expect(error.message).not.toContain("secret.go");
    expect(error.details).toEqual({ reason: "other", errorId: "e-1" });
  });

  it("is still an error when it says nothing", () => {
    expect(errorFromDetails(create(CortexErrorDetailsSchema), context).code).toBe("upstream_failed");
  });
});

it("one of ours passes through untouched", () => {
  const error = new MillraceError("degraded", "x");
  expect(translateError(error, context)).toBe(error);
});

it("any text, however long or odd, becomes one line of bounded length without the secrets", () => {
  fc.assert(
    fc.property(
      fc.string({ unit: anyCharacter }),
      fc.boolean(),
      fc.constantFrom(...Object.values(Code)),
      (noise, twice, code) => {
        if (typeof code === "string") return;
        const text = `${noise} sk-ws-01-planted ${twice ? noise.repeat(50) : ""}`;
        const error = translateError(new ConnectError(text, code), context);
        expect(error.message.length).toBeLessThan(400);
        expect(JSON.stringify(error.toRecord())).not.toContain("planted");
      },
    ),
  );
});

it("a long text is not searched for ever", () => {
  const text = "requires ".repeat(200_000);
  expect(errorFromText(text, context).code).toBe("upstream_failed");
});
