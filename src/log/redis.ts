import { MillraceError } from "../base/errors.ts";
import type { RedisRows } from "./redis/redis-rows.ts";
import type { Rows } from "./rows.ts";

type RedisModule = { readonly RedisRows: Pick<typeof RedisRows, "open"> };

/**
 * Opens rows in Redis, for several gateways that share turns. Its client, the package `redis`, is loaded when this is called. It does
 * not come with Millrace: it is larger than Millrace, and few people use it.
 *
 * @throws MillraceError `degraded` when the server cannot be reached; `invalid_request`, with the command that installs the client, when
 *   it is not installed.
 */
export async function openRedisRows(
  options: Parameters<typeof RedisRows.open>[0],
  load: () => Promise<RedisModule> = () => import("./redis/redis-rows.ts"),
): Promise<Rows> {
  return (await withClient(load)).RedisRows.open(options);
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
