import type { Clock } from "../../base/clock.ts";
import { isMillraceError } from "../../base/errors.ts";
import { loadRedisLog } from "../../log/redis/load-redis-log.ts";
import { storeRemedies, storeWeaknesses } from "../../log/weakness.ts";
import type { RedisAddress } from "../compose/redis-address.ts";
import type { StoreCheck } from "./check-store.ts";
import type { Finding } from "./finding.ts";

/** Whether the Redis server that gateways share their turns in answers. It reads nothing there. */
export async function checkRedis({ url, shown }: RedisAddress, clock: Clock): Promise<StoreCheck> {
  const seen = { file: shown, bytes: 0, free_bytes: null };
  try {
    const openRedisLog = await loadRedisLog();
    const store = await openRedisLog({ url: url.reveal(), clock });
    await store.close();
    const { inspectRedis } = await import("../../log/redis/inspect-redis.ts");
    const weak = (await inspectRedis(url.reveal(), clock)).map((each): Finding => {
      return { area: "store", level: "warning", what: storeWeaknesses[each], todo: storeRemedies[each] };
    });
    const answers: Finding = { area: "store", level: "ok", what: `The store ${shown} answers` };
    return { ...seen, state: "sound", findings: [answers, ...weak] };
  } catch (error) {
    if (!isMillraceError(error)) throw error;
    const what = `${error.message} (${shown})`;
    return { ...seen, state: "unreadable", findings: [{ area: "store", level: "error", what, todo: error.hint }] };
  }
}
