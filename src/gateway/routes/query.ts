import { MillraceError } from "../../base/errors.ts";
import type { GatewayContext } from "../http/context.ts";

/** `limit`, from 1 to `most`; one that is no number is the usual one. */
export function limitIn(query: URLSearchParams, usual: number, most: number): number {
  return Math.min(most, Math.max(1, Number.parseInt(query.get("limit") ?? "", 10) || usual));
}

/** One of these values; undefined where the query has none. @throws MillraceError `invalid_request` for another one. */
export function oneOf<T extends string>(c: GatewayContext, param: string, values: readonly T[]): T | undefined {
  const given = c.query(param) || undefined;
  const found = values.find((value) => value === given);
  if (given === undefined || found !== undefined) return found;
  throw new MillraceError("invalid_request", `\`${param}\` cannot be ${JSON.stringify(given.slice(0, 60))}.`, {
    param,
    hint: `Give one of ${values.join(", ")}.`,
  });
}
