import { ErrorReply } from "redis";
import { isMillraceError, MillraceError } from "../../base/errors.ts";

/** Beginnings of replies that blame the server, not the program. Source: redis.io, server replies. */
const serverFaults: readonly (readonly [string, string])[] = [
  ["OOM", "has no memory left"],
  ["MISCONF", "cannot write to its disk"],
  ["READONLY", "is a read-only replica"],
  ["NOREPLICAS", "has fewer replicas than it needs to take writes"],
  ["LOADING", "is still loading its data"],
  ["MASTERDOWN", "has lost its primary"],
  ["NOAUTH", "wants a password"],
  ["WRONGPASS", "refuses the password"],
  ["NOPERM", "does not permit this user to write the log"],
  ["BUSY", "is busy with a script"],
];

/** Translates an error of the Redis client: `degraded` when the server fails or cannot be reached; other errors are bugs and pass unchanged. */
export function translateRedisError(error: unknown): unknown {
  if (isMillraceError(error)) return error;
  if (!(error instanceof ErrorReply)) {
    return new MillraceError("degraded", "The log's Redis server cannot be reached.", {
      hint: "Start it, or check its address.",
      cause: error,
    });
  }
  const text = error.message.replace(/^.*?(?:error in script[^:]*: |ERR user_script:\d+: )/i, "");
  const fault = serverFaults.find(([word]) => text.startsWith(word) || error.message.includes(`-${word} `));
  if (fault === undefined) return error;
  return new MillraceError("degraded", `The log's Redis server ${fault[1]}.`, { cause: error });
}
