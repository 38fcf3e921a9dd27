import { MillraceError } from "../../base/errors.ts";
import type { Io } from "../terminal/io.ts";

/** A variable that is a whole number from 1; `initial` where it is not set. @throws MillraceError `invalid_request`. */
export function wholeNumber(env: Io["env"], name: string, initial: number): number {
  const text = env[name];
  if (text === undefined || text === "") return initial;
  const value = Number(text);
  if (Number.isSafeInteger(value) && value >= 1) return value;
  throw new MillraceError("invalid_request", `${name} is ${JSON.stringify(text)}, not a whole number from 1.`, {
    hint: `Leave it out for ${initial}.`,
  });
}
