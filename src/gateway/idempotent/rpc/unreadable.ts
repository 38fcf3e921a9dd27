import { Code, ConnectError } from "@connectrpc/connect";
import { MillraceError } from "../../../base/errors.ts";
import { refusal } from "../../dialects/idempotent/errors.ts";

/** Translates Connect's error about an incoming message that cannot be read. */
export function unreadable(cause: unknown, mostBytes: number): MillraceError {
  const { code, rawMessage } = ConnectError.from(cause);
  if (code === Code.ResourceExhausted) return messageTooLarge(mostBytes);
  const hint = "Send the message as protobuf, or as its JSON, as the content type says.";
  return new MillraceError("invalid_request", `A message cannot be read: ${rawMessage.slice(0, 200)}.`, {
    cause,
    hint,
  });
}

/** The refusal of a message that is larger than the gateway takes. */
export function messageTooLarge(mostBytes: number): MillraceError {
  return refusal("invalid_request", "too_large", `The message is larger than ${mostBytes} bytes.`, {
    hint: "Send less.",
  });
}
