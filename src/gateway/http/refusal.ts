import { MillraceError, type MillraceErrorOptions, refusals } from "../../base/errors.ts";

/** A refused request: an error whose status is a row of the table, the same in every API. */
export class Refusal extends MillraceError {
  readonly kind: keyof typeof refusals;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    kind: keyof typeof refusals,
    message: string,
    { headers = {}, ...options }: MillraceErrorOptions & { readonly headers?: Readonly<Record<string, string>> } = {},
  ) {
    super(refusals[kind].code, message, options);
    this.kind = kind;
    this.headers = headers;
  }

  get status(): number {
    return refusals[this.kind].status;
  }
}

/** The refusal of a request that is welcome a little later. Not all come back in the same moment. */
export function busy(message: string): MillraceError {
  return new MillraceError("unavailable", message, { retryAfterMs: 1_000 + Math.random() * 4_000 });
}

/** The refusal of a body of more than so many bytes. */
export function tooLarge(mostBytes: number): Refusal {
  const limit = `${Math.floor(mostBytes / 1024 / 1024)} MB`;
  return new Refusal("too_large", `The body is larger than ${limit}.`, { hint: "Send fewer or smaller images." });
}
