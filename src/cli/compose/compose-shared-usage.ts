import type { SharedUsage } from "../../usage/shared/shared-usage.ts";
import { keepDaysOf } from "../limits/open-own-history.ts";
import type { Io } from "../terminal/io.ts";
import type { RedisAddress } from "./redis-address.ts";

/** Opens the usage that gateways of one Redis server share, besides their turns; undefined without Redis. The store has loaded Redis's client. */
export async function composeSharedUsage(
  { clock, env }: Pick<Io, "clock" | "env">,
  redis: RedisAddress | undefined,
): Promise<SharedUsage | undefined> {
  if (redis === undefined) return undefined;
  const { openRedisUsage } = await import("../../usage/shared/redis-usage.ts");
  return openRedisUsage({ url: redis.url.reveal(), clock, keepDays: keepDaysOf(env["MILLRACE_USAGE_DAYS"]) });
}
