import { type ErrorCode, MillraceError, type MillraceErrorOptions } from "../../base/errors.ts";

/** A refused request: an error with a status of its own, the same in every API. */
export class Refusal extends MillraceError {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    status: number,
    code: ErrorCode,
    message: string,
    {
      headers = {},
      ...options
    }: MillraceErrorOptions & {
      readonly headers?: Readonly<Record<string, string>>;
    } = {},
  ) {
    super(code, message, options);
    this.status = status;
    this.headers = headers;
  }
}

/** The refusal of a request that is welcome a little later. Not all come back in the same moment. */
export function busy(message: string): MillraceError {
  return new MillraceError("unavailable", message, { retryAfterMs: 1_000 + Math.random() * 4_000 });
}

/** The refusal of a request that no route can serve. */
export function notServed(status: number, message: string, hint: string): Refusal {
  return new Refusal(status, "invalid_request", message, { hint });
}

/** The refusal of a body of more than so many bytes. */
export function tooLarge(mostBytes: number): Refusal {
  const limit = `${Math.floor(mostBytes / 1024 / 1024)} MB`;
  return notServed(413, `The body is larger than ${limit}.`, "Send fewer or smaller images.");
}
