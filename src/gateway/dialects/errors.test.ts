import { ConnectError } from "@connectrpc/connect";
import { describe, expect, expectTypeOf, it } from "vitest";
import { type ErrorCode, errorCodes, MillraceError, rowOf } from "../../base/errors.ts";
import type { Symptom } from "../../language-server/errors/symptom.ts";
import { ErrorDetailsSchema } from "../../proto/aiserver/v1/chat_pb.ts";
import type { Dialect } from "./dialect.ts";
import { encodeFailedEnd, encodeRefusal } from "./idempotent/errors.ts";
import { surfaces } from "./surfaces.fake.ts";

const dialects: readonly Dialect[] = surfaces.map(([, { dialect }]) => dialect);
const recordOf = (code: ErrorCode) =>
  new MillraceError(code, "Ours says why.", {
    retryAfterMs: 2_000,
    details: { asked: "gpt-9", tokens: 9, maximum: 8 },
  }).toRecord();

describe.each(errorCodes)("%s", (code) => {
  const { status, anthropicStatus = status, repeat, isFinal } = rowOf({ code });

  it.each(dialects.map((dialect) => [dialect.name, dialect] as const))(
    "is answered by %s as its row says",
    (name, dialect) => {
      const record = recordOf(code);
      const { hint } = record;
      const wire = dialect.encodeError(record, "req-1");
      expect(wire.status).toBe(name === "anthropic-messages" ? anthropicStatus : status);
      expect(JSON.stringify(wire.body)).toContain("Ours says why.");
      expect(JSON.stringify(wire.body)).toContain(JSON.stringify(hint).slice(1, -1));
      const mayRepeat = repeat === "soon" || repeat === "resume";
      expect(wire.headers["x-should-retry"] === "true").toBe(mayRepeat);
      expect(isFinal).toBeUndefined(); // only a reason makes a first failure final
      const again = dialect.encodeError({ ...record, repeated: true }, "req-1");
      expect(again.status).toBe(code === "quota_exhausted" ? 402 : 400);
      expect(again.headers["x-should-retry"]).toBe("false");
    },
  );

  it("is final on a stream exactly where its row says that no attach helps", () => {
    for (const begun of [false, true]) {
      const helps = repeat === "soon" || (repeat !== undefined && begun);
      const error = encodeRefusal(recordOf(code), begun);
      expect(error).toBeInstanceOf(ConnectError);
      expect(error.findDetails(ErrorDetailsSchema).length).toBe(helps ? 0 : 1);
    }
    expect(encodeFailedEnd(recordOf(code)).findDetails(ErrorDetailsSchema)).toMatchObject([
      { details: { isRetryable: false } },
    ]);
  });
});

it("no layer has a code without a row", () => {
  expectTypeOf<Symptom["code"]>().toEqualTypeOf<ErrorCode>();
  expectTypeOf<ConstructorParameters<typeof MillraceError>[0]>().toEqualTypeOf<ErrorCode>();
});
