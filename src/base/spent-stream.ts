import type { ErrorCode } from "./errors.ts";

const sentence =
  "This stream has failed: its name only gives this failure again. To go on, send the request as a new stream";

/** The hint of a failure that ended a stream, with how to go on. `waitS`: how long the next request has to wait, seconds. */
export function withSpentStream(hint: string, waitS: number): string {
  return `${hint} ${sentence}${waitS === 0 ? "" : ` after ${waitS} s`}.`;
}

/** The same hint for a person who asks on a terminal, where each question is a new stream. That of a used-up quota says itself when to ask again. */
export function spentStreamForPeople(hint: string, code: ErrorCode): string {
  const at = hint.indexOf(` ${sentence}`);
  if (at < 0) return hint;
  const wait = / after \d+ s(?=\.$)/.exec(hint)?.[0];
  return hint.slice(0, at) + (wait === undefined || code === "quota_exhausted" ? "" : ` Ask again${wait}.`);
}
