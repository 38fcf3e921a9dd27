import { Code, ConnectError } from "@connectrpc/connect";
import { type ErrorCode, MillraceError } from "../base/errors.ts";
import { ErrorDetailsSchema } from "../proto/aiserver/v1/chat_pb.ts";

/**
 * What a failed call means for a stream: the gateway's own refusal, which is final, or undefined for anything that
 * another attach may mend. A refusal is told apart by its details. Source: facts/idempotent-streams.md, A7 row 15, R15.
 */
export function refusalOf(error: unknown): MillraceError | undefined {
  const failure = ConnectError.from(error);
  const [details] = failure.findDetails(ErrorDetailsSchema);
  if (details === undefined) {
    // A key that is wrong stays wrong; a proxy that says so is believed too.
    if (failure.code === Code.Unauthenticated || failure.code === Code.PermissionDenied)
      return new MillraceError("unauthenticated", failure.rawMessage, { cause: error });
    return undefined;
  }
  if (details.details?.isRetryable === true) return undefined;
  const { code, hint } = details.details?.additionalInfo ?? {};
  const message = details.details?.detail || failure.rawMessage;
  // The gateway writes its own codes; one from a newer gateway is passed on as it is.
  return new MillraceError((code ?? "upstream_failed") as ErrorCode, message, {
    ...(hint === undefined ? {} : { hint }),
    cause: error,
  });
}
