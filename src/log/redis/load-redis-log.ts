import { MillraceError } from "../../base/errors.ts";
import type { openRedisLog } from "./open-redis-log.ts";
import type { openRedisText } from "./open-redis-text.ts";

type RedisLogModule = { readonly openRedisLog: typeof openRedisLog };

/**
 * The log in Redis, loaded when it is asked for. Its client, the package `redis`, does not come with Millrace: it is larger
 * than Millrace, and few people use it.
 *
 * @throws MillraceError `invalid_request` with the command that installs the client, when it is not installed.
 */
export async function loadRedisLog(
  load: () => Promise<RedisLogModule> = () => import("./open-redis-log.ts"),
): Promise<typeof openRedisLog> {
  return (await withClient(load)).openRedisLog;
}

/** A text in Redis, in the same way. */
export async function loadRedisText(): Promise<typeof openRedisText> {
  return (await withClient(() => import("./open-redis-text.ts"))).openRedisText;
}

async function withClient<T>(load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (cause) {
    if (!isMissingClient(cause)) throw cause;
    throw new MillraceError(
      "invalid_request",
      "The package `redis`, which speaks to Redis servers, is not installed.",
      {
        hint: "Type: npm install --global redis@6. Leave out --global if Millrace is installed in a project.",
        cause,
      },
    );
  }
}

function isMissingClient(error: unknown): boolean {
  const isMissing = error instanceof Error && "code" in error && error.code === "ERR_MODULE_NOT_FOUND";
  return isMissing && /package ['"]redis['"]/.test(error.message);
}
