const sentence =
  "This stream has failed: its name only gives this failure again. To go on, send the request as a new stream";

/** The hint of a failure that ended a stream, with how to go on. `waitS`: how long the next request has to wait, seconds. */
export function withSpentStream(hint: string, waitS: number): string {
  return `${hint} ${sentence}${waitS === 0 ? "" : ` after ${waitS} s`}.`;
}
